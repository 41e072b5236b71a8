// The parts of views that show changes: at which commit, of which benchmark, in which functions.
const changeParts = (page) => {
  "use strict";
  const { model, link } = page;
  const { data } = model;
  const toneOf = (change) => (change > 0 ? "worse" : change < 0 ? "better" : "");
  // Growth within its limit is no alarm. The limits and verdicts are those that C++ found.
  const toneOfAll = (change, steps) =>
    (change > 0 && !steps.some((one) => one.verdict === "fails") ? "" : toneOf(change));
  const toneOfChange = (one) => toneOfAll(one.change, [one]);
  const wayTo = (column) => ["commit", column.branch, column.id];
  const commitLink = (column) => link(wayTo(column), column.name);
  // The commit of a change; those before it that may have made it, too, since they were not measured.
  const candidatesOf = (one) => (one.others === 0 ? commitLink(one.column)
    : make("span", {}, commitLink(one.column), ` or ${numbers.format(one.others)} before`));
  const keyLink = (key, metric) => link(["benchmark", key.key], breakable(key.key), { metric: metric.name });

  function functionsOf(change) {
    const move = model.moveOf(change.move);
    if (!move) return [];
    const rows = move.parts.map((part) => ({ ...part, name: part.short, full: part.name }));
    if (move.others) rows.push({ name: plural(move.others, "other function"), change: move.others_change });
    if (move.unexplained) rows.push({ name: "in no function", change: move.unexplained });
    const details = make("details", {}, make("summary", {}, `in ${plural(move.parts.length, "function")}: `
      + move.parts.slice(0, 2).map((part) => `${signed(part.change)} ${part.short}`).join(", ")));
    details.addEventListener("toggle", () => details.append(makeTable({ caption: "Functions that changed",
      columns: [
        { title: "function", text: true, of: (row) => make("span", { title: row.full || "" }, row.name) },
        { title: "change", of: (row) => signed(row.change), tone: (row) => toneOf(row.change) },
        { title: "before", of: (row) => (row.before === undefined ? "" : numbers.format(row.before)) },
        { title: "after", of: (row) => (row.after === undefined ? "" : numbers.format(row.after)) },
        { title: "calls", of: (row) => (row.calls_before === row.calls_after ? ""
          : `${numbers.format(row.calls_before)} → ${numbers.format(row.calls_after)}`) },
        { title: "library", text: true, of: (row) => row.object || "" },
      ], rows })), { once: true });
    return [details, ...flameOf(change)];
  }

  function flameOf(change) {
    if (change.flame === null) return [];
    const graph = make("div");
    const details = make("details", {}, make("summary", {}, "as a flame graph"), graph);
    details.addEventListener("toggle", () => flameGraph(graph, JSON.parse(data.flames[change.flame])), { once: true });
    return [details];
  }

  const kChangeColumns = [
    { title: "before", of: (one) => shown(one.series.metric, one.before) },
    { title: "after", of: (one) => shown(one.series.metric, one.after) },
    { title: "change", of: (one) => shownChange(one.series.metric, one.change), sort: (one) => one.change,
      tone: toneOfChange },
    { title: "relative", of: (one) => shownShare(one.relative), sort: (one) => one.relative,
      tone: toneOfChange },
  ];
  const kChanceColumn = { title: "p", of: (one) => (one.p === null ? "" : String(Number(one.p.toPrecision(2)))) };
  const kAcceptedColumn = { title: "accepted", text: true, of: (one) => one.accepted || "" };

  // The other metrics of a benchmark that changed at the same commit.
  function othersOf({ rest = [] }) {
    if (rest.length === 0) return [];
    const details = make("details", {}, make("summary", {}, `also ${rest.map((one) =>
      `${one.series.metric.heading} ${Number.isFinite(one.relative) ? shownShare(one.relative)
        : shownChange(one.series.metric, one.change)}`).join(", ")}`));
    details.addEventListener("toggle", () => details.append(makeTable({ caption: "Other metrics", rows: rest, columns: [
      { title: "metric", text: true, of: (one) => one.series.metric.heading }, ...kChangeColumns,
      ...(rest.some((one) => one.accepted) ? [kAcceptedColumn] : [])] })), { once: true });
    return [details];
  }

  // A row for each benchmark: its first metric, with the rest below it.
  function byBenchmark(changes) {
    const byKey = new Map();
    for (const one of changes) addTo(byKey, one.series.key, one);
    return [...byKey.values()].map((its) => {
      const [first, ...rest] = [...its].sort((a, b) => a.series.metric.order - b.series.metric.order);
      return { ...first, rest };
    }).sort((a, b) => a.series.metric.order - b.series.metric.order
      || Math.abs(b.relative) - Math.abs(a.relative));
  }

  // A table for each commit, or for those that may have made the changes.
  function changesByCommit(title, changes) {
    const groups = new Map();
    for (const one of changes) addTo(groups, `${one.column.index} ${one.others}`, one);
    return [make("h3", {}, title), ...[...groups.values()].map((its) => {
      const { column } = its[0];
      return changesTable(make("span", {}, candidatesOf(its[0]), ` ${shownDate(column.time)} ${column.subject}`),
        byBenchmark(its), { withCommit: false, label: `${title}: ${column.name}`, className: "at-commit" });
    })];
  }

  function changesTable(caption, changes, { withKey = true, withCommit = true, label = caption, className } = {}) {
    const columns = [
      ...(withKey ? [{ title: "benchmark", text: true, of: (one) => keyLink(one.series.key, one.series.metric),
        sort: (one) => one.series.key.key }] : []),
      { title: "metric", text: true, of: (one) => one.series.metric.heading },
      ...kChangeColumns,
      ...(changes.some((one) => one.p !== null) ? [kChanceColumn] : []),
      ...(withCommit ? [{ title: model.isOfFiles ? "file" : "commit", text: true,
        of: candidatesOf, sort: (one) => one.column.index }] : []),
      ...(withCommit && !model.isOfFiles ? [{ title: "subject", text: true,
        of: (one) => `${shownDate(one.column.time)} ${one.column.subject}` }] : []),
      ...(changes.some((one) => one.accepted) ? [kAcceptedColumn] : []),
    ];
    return makeTable({ caption, label, className, columns, rows: changes, page: withKey ? kShownRows : 100,
      after: (one) => [...functionsOf(one), ...othersOf(one)] });
  }

  return { toneOfAll, wayTo, commitLink, candidatesOf, keyLink, functionsOf, byBenchmark, changesByCommit, changesTable };
};
