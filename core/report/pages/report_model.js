// Returns the rows of a table of the data, which has an array for each member (docs/FORMATS.md).
const rowsOf = (table) => {
  const names = Object.keys(table);
  return names.length === 0 ? [] : table[names[0]].map((first, i) =>
    Object.fromEntries(names.map((name) => [name, table[name][i]])));
};

// reportModel(data): the values of a report, which html_page.cpp writes. Chooses, groups and averages what C++
// computed. Does not touch elements.
//
// A line is a metric of a key on a branch. It has several series if it was measured differently over time,
// the last series first.
const reportModel = (data) => {
  "use strict";
  const kLately = 3; // a line without a value in so many last columns is unmonitored

  const { named, facets } = data;
  const keys = rowsOf(data.keys);
  for (const key of keys) {
    for (const { name, values } of facets) key[name] = values[key[name]];
    key.eager = keys[key.eager]; // the eager variant with which it is compared, if any
  }
  const byKey = new Map(keys.map((one) => [one.key, one]));
  const metrics = rowsOf(data.metrics);
  const columns = rowsOf(data.columns).map((column, index) =>
    ({ ...column, index, branch: data.branches[column.branch] }));
  const branches = data.branches.map((name) => {
    const its = columns.filter((column) => column.branch === name);
    return { name, first: its[0], last: its[its.length - 1], columns: its };
  }).filter((branch) => branch.first);
  const isOfFiles = columns.every((column) => column.branch === "");
  const functions = rowsOf(data.functions);
  const moveOf = (move) => (move === null ? null : { ...move, parts: rowsOf(move.parts)
    .map((part) => ({ ...part, ...functions[part.function], change: part.after - part.before })) });

  const series = rowsOf(data.series).map((one) => ({ ...one, key: keys[one.key], metric: metrics[one.metric],
    branch: data.branches[one.branch], isExact: one.is_exact === 1, changes: [],
    definitions: data.definitions[one.definitions] }));
  for (const change of rowsOf(data.changes)) {
    const one = series[change.series];
    const { before, after } = change;
    one.changes.push({ ...change, series: one, column: columns[change.column], change: after - before,
      relative: before === 0 ? NaN : (after - before) / Math.abs(before) });
  }

  const contains = (set, id) => {
    let low = 0, high = set.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (set[middle][0] <= id) low = middle + 1; else high = middle;
    }
    return low > 0 && id <= set[low - 1][1];
  };
  const isMeasured = (one, column) => one.isExact
    ? column.sets.some((set) => contains(data.sets[set], one.id)) : one.columns.includes(column.index);

  const lines = new Map();
  const lineName = (key, metric, branch) => `${branch}\n${metric}\n${key}`;
  for (const one of series) {
    const name = lineName(one.key.key, one.metric.name, one.branch);
    if (!lines.has(name)) lines.set(name, { key: one.key, metric: one.metric, branch: one.branch, series: [] });
    lines.get(name).series.push(one);
  }
  for (const line of lines.values()) line.series.sort((a, b) => b.last - a.last);
  const lineOf = (key, metric, branch) => lines.get(lineName(key, metric, branch));

  const now = (line) => line.series[0].values[line.series[0].values.length - 1];

  // The value of a line at a column, in the series that was measured there.
  const valueAt = (line, index) => {
    for (const one of line.series) {
      if (one.columns[0] > index) continue;
      let at = one.columns.length - 1;
      while (one.columns[at] > index) --at;
      return one.values[at];
    }
    return undefined;
  };

  const backends = new Map(rowsOf(data.backends).map((one) =>
    [`${data.branches[one.branch]}\n${keys[one.key].key}`, one]));
  const backendAt = (key, branch) => backends.get(`${branch.name}\n${key.key}`) || { columns: [], logs: [] };
  const lastSpeedup = (key, branch) => backendAt(key, branch).logs.slice(-1)[0];

  // All that is averaged are figures of C++; the filters choose which.
  const isThere = (value) => value !== undefined && value !== null;
  const mean = (values) => {
    const its = values.filter(isThere);
    return its.length === 0 ? undefined : its.reduce((sum, value) => sum + value, 0) / its.length;
  };
  // The geometric mean of ratios whose logarithms these are.
  const ratioOf = (logs) => {
    const log = mean(logs);
    return log === undefined ? undefined : Math.exp(log);
  };
  // The logarithm of the value now over that at a column, if one series has both.
  const logSince = ({ series: [one] }, from) => (one.columns[0] > from ? undefined
    : one.logs.reduce((sum, log, i) => (one.columns[i + 1] > from ? sum + log : sum), 0));

  const breaks = rowsOf(data.breaks).map((one) => ({ ...one, column: columns[one.column] }));
  const outcomes = rowsOf(data.outcomes).map((one) =>
    ({ ...one, column: columns[one.column], key: keys[one.key] }));
  const isBad = (state) => state !== "PASS" && state !== "skipped";

  // Findings among the lines for which `has` is true, on a branch since the column `from`.
  function attention(has, branch, from) {
    const found = { worse: [], more: [], better: [], accepted: [], stale: [], failed: [], breaks: [] };
    const lately = branch.columns[Math.max(0, branch.columns.length - kLately)].index;
    for (const line of lines.values()) {
      if (line.branch !== branch.name || !has(line)) continue;
      const current = line.series[0];
      if (current.last < lately || (isOfFiles && current.last < branch.last.index)) found.stale.push(line);
      for (const change of current.changes) {
        if (change.column.index <= from) continue;
        if (change.change < 0) found.better.push(change);
        else if (change.accepted) found.accepted.push(change);
        else if (change.is_regression) found.worse.push(change);
        else if (change.verdict !== "fails") found.more.push(change); // else it was undone
      }
    }
    const byCost = (a, b) => Math.abs(b.relative) - Math.abs(a.relative);
    for (const list of [found.worse, found.more, found.better, found.accepted]) list.sort(byCost);
    found.failed = outcomes.filter((one) => one.column === branch.last && isBad(one.state));
    found.breaks = breaks.filter((one) => one.column.branch === branch.name && one.column.index > from);
    return found;
  }

  // A row for each suite, test, language and backend of the keys, at the last column.
  function summary(chosen, branch, from) {
    const groups = new Map();
    for (const key of chosen) {
      const name = [key.suite, key.test, key.language, key.backend].join("\n");
      if (!groups.has(name)) groups.set(name, { ...key, keys: [] });
      groups.get(name).keys.push(key);
    }
    const states = new Map(outcomes.filter((one) => one.column === branch.last).map((one) => [one.key, one.state]));
    const orderOf = ({ suite, test, language, backend }) =>
      [suite, test, language, backend === "eager" ? "" : backend].join("\n");
    return sortRows([...groups.values()], orderOf, true).map((group) => {
      const passing = group.keys.filter((key) => !isBad(states.get(key) || "PASS"));
      const linesOf = (metric) => passing.map((key) => lineOf(key.key, metric, branch.name)).filter(Boolean);
      const againstEager = (metric) => ratioOf(linesOf(metric).map(({ series: [one] }) => one.against_eager));
      const counts = linesOf(named.instructions);
      const since = ratioOf(counts.map((line) => logSince(line, from)));
      const steps = counts.flatMap(({ series: [one] }) => one.changes.filter(({ column }) => column.index > from));
      const judged = group.keys.filter((key) => states.has(key) && states.get(key) !== "skipped");
      return { ...group, count: group.keys.length, steps,
        pass: judged.length === 0 ? undefined
          : judged.filter((key) => !isBad(states.get(key))).length / judged.length,
        change: since === undefined ? undefined : since - 1, instructions: againstEager(named.instructions),
        speedup: ratioOf(passing.map((key) => lastSpeedup(key, branch))), memory: againstEager(named.memory),
        compile: mean(passing.map((key) => backendAt(key, branch).compile_time)) };
    });
  }

  // The words that say what is averaged, without those that all keys have in common: "timm train".
  const varying = ["suite", "test", "dtype", "device", "threads"].filter((name) =>
    facets.find((facet) => facet.name === name).values.length > 1);
  const groupOf = (key) => varying.map((name) => (name === "threads" ? `t${key.threads}` : key[name])).join(" ");
  const languages = facets.find((facet) => facet.name === "language").values;
  const backendOf = (key) => (languages.length > 1 ? `${key.language} ${key.backend}` : key.backend);
  // The number of a key's backend in the language, the same in all graphs.
  const backendNames = [...new Set(keys.map((key) => `${key.language} ${key.backend}`))].sort();
  const backendNumberOf = (key) => backendNames.indexOf(`${key.language} ${key.backend}`);
  const valueNumberOf = (name, value) => facets.find((facet) => facet.name === name).values.indexOf(value);
  const modelOf = (key) => key.key.split("/").slice(0, key.language === "py" ? -5 : -4).join("/")
    .replace(/\/(?=[^/]*=)/g, " ");

  const placeOf = (column, key) => `${column.index} ${key.key}`;
  const bad = new Map(outcomes.filter(({ state }) => isBad(state)).map((one) => [placeOf(one.column, one.key), one]));

  // The last speed-up of each key that has an eager variant; without one, the state of a failure.
  function speedups(chosen, branch) {
    return chosen.filter((key) => key.eager).flatMap((key) => {
      const failure = bad.get(placeOf(branch.last, key));
      if (failure) return [{ key, state: failure.state }];
      const log = lastSpeedup(key, branch);
      return log === undefined ? [] : [{ key, ratio: Math.exp(log) }];
    });
  }

  // The geometric means of the speed-ups at each column, by group and backend.
  function speedupTrends(chosen, branch, from) {
    const trends = new Map();
    for (const key of chosen) {
      const trend = { group: groupOf(key), backend: backendOf(key), number: backendNumberOf(key), logs: new Map() };
      const name = `${trend.group}\n${trend.backend}`;
      const { columns: its, logs } = backendAt(key, branch);
      its.forEach((at, i) => {
        if (at < from) return;
        if (!trends.has(name)) trends.set(name, trend);
        addTo(trends.get(name).logs, at, logs[i]);
      });
    }
    return [...trends.values()].map(({ logs, ...trend }) => ({ ...trend,
      means: new Map([...logs].map(([at, its]) => [at, ratioOf(its)])) }));
  }

  // The geometric mean of the values of each group of lines, as a percentage of its first column. `numberOf`: of the
  // group's appearance.
  function trend(chosen, branch, from, groupOf, numberOf) {
    const numbered = new Map(chosen.map((line) => [groupOf(line.key), numberOf(line.key)]));
    const names = [...numbered.keys()].sort();
    const place = new Map(names.map((name, i) => [name, i]));
    const count = branch.columns.length;
    const sums = names.map(() => new Float64Array(count));
    const joined = names.map(() => new Float64Array(count));
    const first = branch.first.index;
    for (const line of chosen) {
      const group = place.get(groupOf(line.key));
      joined[group][Math.min(...line.series.map((one) => one.columns[0])) - first] += 1;
      for (const one of line.series) {
        one.logs.forEach((log, i) => { sums[group][one.columns[i + 1] - first] += log; });
      }
    }
    const rows = [];
    const level = names.map(() => 0), alive = names.map(() => 0), base = names.map(() => null);
    for (let i = 0; i < count; ++i) {
      const row = names.map((name, group) => {
        alive[group] += joined[group][i];
        if (alive[group] === 0) return null;
        level[group] += sums[group][i] / alive[group];
        if (i + first < from) return null;
        if (base[group] === null) base[group] = level[group];
        return 100 * Math.exp(level[group] - base[group]);
      });
      if (i + first >= from) rows.push({ column: branch.columns[i], values: row });
    }
    return { names, numbers: names.map((name) => numbered.get(name)), rows };
  }

  // Lines whose value differs between two columns of a branch, the greatest change first.
  function compare(has, before, after) {
    const rows = [];
    for (const line of lines.values()) {
      if (line.branch !== after.branch || !has(line)) continue;
      const old = valueAt(line, before.index), now = valueAt(line, after.index);
      const one = line.series.find((series) => series.columns[0] <= after.index);
      if (now === undefined || old === now) continue;
      const isOther = old !== undefined && one.columns[0] > before.index;
      rows.push({ line, before: old, after: now, isOther, change: now - old,
        relative: old === undefined || old === 0 ? NaN : (now - old) / Math.abs(old),
        changes: one.changes.filter((change) =>
          change.column.index > before.index && change.column.index <= after.index) });
    }
    return rows.sort((a, b) => (Math.abs(b.relative) || 0) - (Math.abs(a.relative) || 0));
  }

  return { data, isOfFiles, facets, keys, byKey, metrics, columns, branches, series, lines, lineOf, now, valueAt,
    isMeasured, moveOf, breaks, outcomes, isBad, attention, summary, trend, compare,
    groupOf, backendOf, backendNumberOf, valueNumberOf, modelOf, speedups, speedupTrends,
    experiments: parseExperiments(data) };
};
