// The views of a report. reportViews(page): `page` has the model, the filters in the address, and functions that go to
// another address. Each view has a name in the address, a title among the links, if it has a link, and show(), which
// returns a heading and the elements below it.
const reportViews = (page) => {
  "use strict";
  const { model, addressOf, link, go, chosen, branchNow, metricNow, rangeNow, from, isChosenKey, has, hasAny,
    linesNow } = page;
  const { data } = model;

  // -- Parts of views
  const { toneOfAll, wayTo, commitLink, candidatesOf, keyLink, functionsOf, byBenchmark, changesByCommit, changesTable } =
    changeParts(page);
  const openCommit = (column) => go(addressOf(wayTo(column)));
  const experiments = experimentParts(page);

  const breaksOf = (breaks) => breaks.flatMap((one) => [
    make("p", {}, `From ${one.column.name} (${shownDate(one.column.time)}) on, ${plural(one.count, "series",
      "series")} of values ${one.count === 1 ? "is" : "are"} measured differently, so that no line leads there:`),
    make("pre", {}, one.reasons.join("\n"))]);

  function outcomesTable(caption, outcomes) {
    return makeTable({ caption, rows: outcomes, page: kShownRows, columns: [
      { title: "benchmark", text: true, sort: (one) => one.key.key,
        of: (one) => link(["benchmark", one.key.key], breakable(one.key.key)) },
      { title: "state", text: true, of: (one) => one.state, sort: (one) => one.state,
        tone: (one) => (model.isBad(one.state) ? "worse" : "") },
      { title: "reason", text: true, of: (one) => one.reason.split("\n", 1)[0] }] });
  }

  // -- Views: each returns a heading and the elements below it

  // The findings of experiments say what failed, and other files may have other experiments.
  function attentionNow() {
    const found = model.attention(hasAny, branchNow(), from());
    found.failed = found.failed.filter((one) => !experiments.has(one.key.key));
    found.stale = found.stale.filter((line) => !experiments.has(line.key.key));
    return found;
  }

  const makeCard = (tone, count, title) => make("li", { className: count > 0 ? tone : "" },
    make("strong", {}, numbers.format(count)), title);
  const findingCards = (findings) => findings.map(({ title, rows }) =>
    makeCard("worse", rows.length, link(["finding", title], title)));

  function changeCards(found) {
    const isOne = model.columns.length === 1;
    const what = model.isOfFiles ? "file" : "commit";
    // The number of benchmarks, and of the commits at which they changed.
    const cardOf = (tone, changes, one, many, isUsual) => {
      const count = new Set(changes.map(({ column, series }) => `${column.index} ${series.key.key}`)).size;
      const commits = new Set(changes.map(({ column }) => column)).size;
      return [tone, count, (count === 1 ? one : many) + (count > 0 ? `, at ${plural(commits, what)}` : ""), isUsual];
    };
    return [
      cardOf("worse", found.worse, "regression not accepted", "regressions not accepted", !isOne),
      ["worse", found.failed.length, "failed", !model.experiments],
      ["worse", found.stale.length, "not measured lately", !isOne],
      cardOf("better", found.better, "improvement", "improvements", !isOne),
      cardOf("", found.accepted, "accepted", "accepted", !isOne),
      cardOf("", found.more, "grew within limits", "grew within limits", false),
    ].filter(([, count, , isUsual]) => count > 0 || isUsual)
      .map(([tone, count, title]) => makeCard(tone, count, title));
  }

  function overview() {
    const branch = branchNow();
    const found = attentionNow();
    const findings = experiments.findings();
    const where = rangeNow().name === "all" ? "" : ` ${rangeNow().title}`;
    const parts = [make("ul", { className: "cards" }, ...findingCards(findings), ...changeCards(found))];
    const isFine = findings.length + found.worse.length + found.failed.length + found.stale.length === 0;
    if (isFine) parts.push(make("p", { className: "good" }, `Nothing needs attention${where}.`));
    parts.push(...findings.map((finding) => experiments.findingTable(finding)));
    if (found.worse.length > 0) parts.push(...changesByCommit("Regressions that nobody accepted", found.worse));
    if (found.failed.length > 0) parts.push(outcomesTable("Failed", found.failed));
    if (found.stale.length > 0) parts.push(staleTable(found.stale));
    parts.push(...breaksOf(found.breaks));
    if (model.experiments) parts.push(experiments.summaryTable());
    if (model.keys.some((key) => !experiments.has(key.key))) parts.push(summaryTable(branch));
    if (branch.columns.length > 1) parts.push(...trendOf(branch));
    if (found.accepted.length > 0) parts.push(...changesByCommit("Accepted", found.accepted));
    if (found.better.length > 0) parts.push(...changesByCommit("Improvements", found.better));
    if (found.more.length > 0) parts.push(changesTable("Growth within limits", byBenchmark(found.more)));
    return [model.columns.length > 1 ? `What needs attention${where}` : "Results", ...parts];
  }

  function staleTable(lines) {
    return makeTable({ caption: "Not measured lately", rows: lines, page: kShownRows, columns: [
      { title: "benchmark", text: true, of: (line) => keyLink(line.key, line.metric), sort: (line) => line.key.key },
      { title: "metric", text: true, of: (line) => line.metric.heading },
      { title: "last measured at", text: true, tone: () => "worse", sort: (line) => line.series[0].last,
        of: (line) => commitLink(model.columns[line.series[0].last]) },
      { title: "of", text: true, of: (line) => shownDate(model.columns[line.series[0].last].time) }] });
  }

  function summaryTable(branch) {
    const keys = model.keys.filter((key) => isChosenKey(key) && !experiments.has(key.key));
    const rows = model.summary(keys, branch, from());
    const lead = (row, text, metric) => (text === "-" ? text : link(["benchmarks"], text, { suite: row.suite,
      test: row.test, language: row.language, backend: row.backend, ...(metric ? { metric } : {}) }));
    const ratio = (title, value, metric) => ({ title, value, sort: (row) => row[value],
      of: (row) => lead(row, shownRatio(row[value]), metric) });
    const { named } = data;
    const columns = [
      { title: "suite", text: true, of: (row) => lead(row, row.suite), sort: (row) => row.suite },
      { title: "test", text: true, of: (row) => row.test, sort: (row) => row.test },
      { title: "language", text: true, of: (row) => row.language, sort: (row) => row.language },
      { title: "backend", text: true, of: (row) => row.backend, sort: (row) => row.backend },
      { title: "benchmarks", of: (row) => numbers.format(row.count), sort: (row) => row.count },
      { title: "pass", value: "pass", of: (row) => (row.pass === undefined ? "-" : `${Math.round(100 * row.pass)}%`),
        tone: (row) => (row.pass < 1 ? "worse" : ""), sort: (row) => row.pass },
      { title: "instructions", value: "change", sort: (row) => row.change, tone: (row) => toneOfAll(row.change, row.steps),
        of: (row) => lead(row, shownShare(row.change), named.instructions) },
      ratio("fewer than eager", "instructions", named.instructions),
      ratio("speed-up", "speedup", named.wall),
      { title: "compile time", value: "compile", sort: (row) => row.compile,
        of: (row) => lead(row, shown({ unit: "ns" }, row.compile), named.ready) },
      ratio("memory", "memory", named.memory),
    ].filter(({ value }) => !value || rows.some((row) => row[value] !== undefined));
    const div = make("div", {}, makeTable({ caption: "Suites and backends", className: "summary", columns, rows }));
    div.append(make("p", {}, "Geometric means; of ratios to eager more is better. Compile time is a mean. "
      + "What failed is in none of them."));
    return div;
  }

  function trendOf(branch) {
    const lines = linesNow();
    if (lines.length === 0) return [];
    const hasTests = new Set(lines.map((line) => line.key.test)).size > 1;
    const groupOf = (key) => (chosen("suite") ? model.backendOf(key) : key.suite) + (hasTests ? ` ${key.test}` : "");
    const numberOf = (key) => dashed(chosen("suite") ? model.backendNumberOf(key)
      : model.valueNumberOf("suite", key.suite), hasTests ? model.valueNumberOf("test", key.test) : 0);
    const each = model.trend(lines, branch, from(), groupOf, numberOf);
    const ofAll = (key) => (hasTests ? `all suites ${key.test}` : "all suites");
    const numberInAll = (key) => dashed(0, hasTests ? model.valueNumberOf("test", key.test) : 0);
    const some = each.names.length > kColours.length ? model.trend(lines, branch, from(), ofAll, numberInAll) : each;
    return each.rows.length < 2 ? [] : [makeChart({ ...some, format: (value) => `${value.toFixed(2)}%`,
      title: `${metricNow().heading} since ${model.columns[from()].name}, geometric mean`,
      isSteps: lines.some((line) => line.series[0].isExact),
      open: openCommit })];
  }

  function benchmarks() {
    const metric = metricNow();
    const start = from();
    const rows = linesNow().map((line) => {
      const one = line.series[0];
      const now = model.now(line);
      const before = one.columns[0] <= start ? model.valueAt(line, start) : undefined;
      const steps = one.changes.filter((change) => change.column.index > start);
      const eager = one.against_eager === null ? undefined : Math.exp(one.against_eager);
      return { line, one, now, before, steps, eager, change: now - before,
        relative: (now - before) / Math.abs(before) };
    }).sort((a, b) => (a.line.key.key < b.line.key.key ? -1 : 1));
    const isSeveral = model.columns.length > 1;
    return [`Benchmarks: ${metric.heading}`, makeTable({ caption: plural(rows.length, "benchmark"), rows,
      sorted: { place: 0, isUp: true }, columns: [
        { title: "benchmark", text: true, of: (row) => keyLink(row.line.key, metric), sort: (row) => row.line.key.key },
        { title: metric.heading, of: (row) => shown(metric, row.now), sort: (row) => row.now },
        ...(rows.some((row) => row.eager) ? [{ title: "against eager", of: (row) => shownRatio(row.eager),
          sort: (row) => row.eager }] : []),
        ...(isSeveral ? [
          { title: "change", of: (row) => (row.before === undefined ? "new" : shownChange(metric, row.change)),
            sort: (row) => row.change, tone: (row) => toneOfAll(row.change, row.steps) },
          { title: "relative", of: (row) => (row.before === undefined ? "" : shownShare(row.relative)),
            sort: (row) => row.relative, tone: (row) => toneOfAll(row.change, row.steps) },
          { title: "steps", of: (row) => numbers.format(row.steps.length), sort: (row) => row.steps.length },
          { title: "last step", text: true, of: (row) => (row.steps.length === 0 ? ""
            : candidatesOf(row.steps[row.steps.length - 1])) },
          { title: "measured at", text: true, sort: (row) => row.one.last,
            of: (row) => commitLink(model.columns[row.one.last]),
            tone: (row) => (row.one.last < branchNow().last.index ? "worse" : "") }] : [])] })];
  }

  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

  function chartOf(line) {
    const branch = branchNow();
    const start = from();
    const inOrder = [...line.series].sort((a, b) => a.columns[0] - b.columns[0]);
    const rows = branch.columns.filter((column) => column.index >= start).map((column) => ({ column,
      values: inOrder.map((one) => (one.columns[0] <= column.index && model.isMeasured(one, column)
        ? one.values[one.columns.findLastIndex((place) => place <= column.index)] : null)) }))
      .filter((row) => row.values.some((value) => value !== null));
    if (rows.length < 2) return [];
    return [makeChart({ title: `${line.metric.heading} of ${line.key.key}`, rows, isSteps: inOrder[0].isExact,
      names: inOrder.map((one, i) => (inOrder.length === 1 ? line.metric.heading : `measured as ${i + 1}`)),
      format: (value) => shown(line.metric, value), marks: inOrder.slice(1).map((one) => model.columns[one.columns[0]]),
      open: openCommit })];
  }

  function benchmark([name]) {
    const key = model.byKey.get(name);
    if (!key) return ["There is no such benchmark", make("p", {}, name)];
    const branch = branchNow();
    const its = model.metrics.map((metric) => model.lineOf(name, metric.name, branch.name)).filter(Boolean)
      .sort((a, b) => a.metric.order - b.metric.order);
    const line = its.find((one) => one.metric === metricNow()) || its[0];
    const outcomes = model.outcomes.filter((one) => one.key === key);
    const changes = its.flatMap((one) => one.series.flatMap((series) => series.changes))
      .sort((a, b) => b.column.index - a.column.index || a.series.metric.order - b.series.metric.order);
    const last = line && model.columns[line.series[0].last];
    const breaks = model.breaks.filter((one) => line && line.series.some((series) =>
      series.columns[0] === one.column.index && series !== line.series[line.series.length - 1]));
    const explanation = `instr_bench explain${line ? line.series[0].definitions : ""} ${quoted(name)}`;
    const isAlone = experiments.has(name) && model.columns.length === 1; // the details have all its values
    return [name,
      make("p", {}, model.facets.map((facet) => `${facet.name} ${key[facet.name]}`).join(" · ")),
      ...(last ? [make("p", {}, "last measured at ", commitLink(last))] : []),
      ...experiments.details(name),
      ...(line ? chartOf(line) : []),
      ...breaksOf(breaks),
      ...(its.length === 0 || isAlone ? [] : [makeTable({ caption: "Metrics", rows: its, columns: [
        { title: "metric", text: true, of: (one) => link(["benchmark", name], one.metric.heading,
          { metric: one.metric.name }) },
        { title: "now", of: (one) => shown(one.metric, model.now(one)) },
        { title: "steps", of: (one) => numbers.format(one.series[0].changes.length) }] })]),
      ...(changes.length === 0 ? [] : [changesTable(model.isOfFiles ? "Changes" : "Steps", changes,
        { withKey: false })]),
      ...(outcomes.length === 0 || isAlone ? [] : [makeTable({ caption: "Outcomes", rows: outcomes, columns: [
        { title: "measured at", text: true, of: (one) => commitLink(one.column) },
        { title: "state", text: true, of: (one) => one.state, tone: (one) => (model.isBad(one.state) ? "worse" : "") },
        { title: "reason", text: true, of: (one) => one.reason }] })]),
      ...(experiments.has(name) ? [] : [make("h3", {}, "To see it yourself"),
        make("pre", {}, model.isOfFiles || !last ? explanation
        : `git switch --detach ${last.id}\n${explanation}\n`
          + `instr_bench history show${data.history} ${quoted(name)}`)])];
  }

  function commitView([branch, id]) {
    const column = model.columns.find((one) => one.branch === branch && one.id === id);
    if (!column) return ["There is no such commit here", make("p", {}, id)];
    const its = model.branches.find((one) => one.name === branch).columns;
    const before = its[its.indexOf(column) - 1], after = its[its.indexOf(column) + 1];
    const changes = model.series.filter((one) => one.branch === branch && hasAny({ key: one.key }))
      .flatMap((one) => one.changes.filter((change) => change.column === column))
      .sort((a, b) => Math.abs(b.relative) - Math.abs(a.relative));
    const outcomes = model.outcomes.filter((one) => one.column === column && model.isBad(one.state)
      && isChosenKey(one.key));
    return [`${column.name} ${column.subject}`,
      makeFacts([[model.isOfFiles ? "file" : "commit", column.id], ["branch", column.branch],
        ["of", shownDate(column.time)], ["before it", before && commitLink(before)],
        ["after it", after && commitLink(after)],
        ["compare", before && link(["compare", before.id, column.id], `${before.name} with ${column.name}`,
          { branch })]]),
      ...(changes.every((one) => one.others === 0) ? [] : [make("p", {}, `Some of the changes may have been made by ${
        plural(Math.max(...changes.map((one) => one.others)), "commit")} before this, not measured.`)]),
      changes.length === 0 ? make("p", {}, "Nothing changed here.")
        : changesTable("What changed", byBenchmark(changes), { withCommit: false }),
      ...(outcomes.length === 0 ? [] : [outcomesTable("Failed", outcomes)])];
  }

  function commits() {
    const counts = new Map();
    for (const line of linesNow()) {
      for (const one of line.series) {
        for (const change of one.changes) {
          const count = counts.get(change.column) || { more: 0, less: 0, fails: 0 };
          count[change.change > 0 ? "more" : "less"] += 1;
          if (change.verdict === "fails") count.fails += 1;
          counts.set(change.column, count);
        }
      }
    }
    const rows = [...branchNow().columns].reverse().filter((column) => column.index >= from());
    const countOf = (column, name) => (counts.get(column) || {})[name] || 0;
    const countColumn = (name, tone) => ({ title: name, of: (column) => countOf(column, name) || "",
      sort: (column) => countOf(column, name), tone });
    const what = model.isOfFiles ? "file" : "commit";
    return [model.isOfFiles ? "Files" : "Commits", makeTable({
      caption: `${plural(rows.length, what)}; changes of ${metricNow().heading}`, rows, columns: [
        { title: what, text: true, of: commitLink, sort: (column) => column.index },
        { title: "of", text: true, of: (column) => shownDate(column.time) },
        { title: model.isOfFiles ? "command" : "subject", text: true, of: (column) => column.subject },
        countColumn("more", (column) => (countOf(column, "fails") > 0 ? "worse" : "")),
        countColumn("less", () => "better")] })];
  }

  function compare([oldId, newId]) {
    const { columns } = branchNow();
    const find = (id, otherwise) => columns.find((one) => one.id === id) || otherwise;
    const after = find(newId, columns[columns.length - 1]);
    const before = find(oldId, model.columns[from()] === after ? columns[0] : model.columns[from()]);
    const pick = (title, value, change) => {
      const select = make("select");
      for (const one of columns) {
        select.add(new Option(`${one.name} ${shownDate(one.time)} ${one.subject}`.trim().slice(0, 80), one.id));
      }
      select.value = value.id;
      select.addEventListener("change", () => go(change(select.value)));
      return make("label", {}, title, select);
    };
    const rows = model.compare(has, before, after);
    const ratios = rows.filter((row) => !row.isOther && row.before > 0);
    const metric = metricNow();
    return [`${before.name} compared with ${after.name}: ${metric.heading}`,
      make("form", {}, pick("from", before, (id) => addressOf(["compare", id, after.id])),
        pick("to", after, (id) => addressOf(["compare", before.id, id]))),
      rows.length === 0 ? make("p", {}, "Nothing differs.") : makeTable({
        caption: `${plural(rows.length, "difference")}; ${plural(ratios.filter((row) => row.change > 0).length,
          "benchmark")} with more`, rows, columns: [
          { title: "benchmark", text: true, of: (row) => keyLink(row.line.key, metric),
            sort: (row) => row.line.key.key },
          { title: "before", of: (row) => shown(metric, row.before) },
          { title: "after", of: (row) => shown(metric, row.after) },
          { title: "change", of: (row) => (row.before === undefined ? "new" : row.isOther ? "measured differently"
            : shownChange(metric, row.change)), sort: (row) => row.change,
          tone: (row) => (row.isOther ? "" : toneOfAll(row.change, row.changes)) },
          { title: "relative", of: (row) => (row.isOther ? "" : shownShare(row.relative)), sort: (row) => row.relative,
            tone: (row) => (row.isOther ? "" : toneOfAll(row.change, row.changes)) },
          { title: "at", text: true, of: (row) => make("span", {}, ...row.changes.flatMap((change, i) =>
            [i > 0 ? ", " : "", candidatesOf(change)])) }],
        after: (row) => (row.changes.length === 1 ? functionsOf(row.changes[0]) : []) })];
  }

  return [
    { name: "", title: "Overview", show: overview },
    ...speedupViews({ ...page, openCommit }),
    ...experiments.views,
    { name: "benchmarks", title: "Benchmarks", show: benchmarks },
    { name: "commits", title: model.isOfFiles ? "Files" : "Commits", show: commits },
    { name: "compare", title: "Compare", show: compare },
    { name: "benchmark", show: benchmark },
    { name: "commit", show: commitView }];
};
