// reportModel(data): the values of a report, which html_page.cpp writes, and figures derived from them. Does
// not touch elements.
//
// A line is a metric of a key on a branch. It has several series if it was measured differently over time,
// the last series first.
const reportModel = (data) => {
  "use strict";
  const kLately = 3; // a line without a value in so many last columns is unmonitored

  const { named } = data; // metrics of the summary
  const facets = data.keys.facets.map(([name, values]) => ({ name, values: [...values].sort() }));
  const keys = data.keys.list.map(([key, ...numbers]) => {
    const one = { key };
    data.keys.facets.forEach(([name, values], i) => { one[name] = values[numbers[i]]; });
    return one;
  });
  const byKey = new Map(keys.map((one) => [one.key, one]));
  const metrics = data.metrics.map(([name, heading, unit, order]) => ({ name, heading, unit, order }));
  const columns = data.columns.map(([branch, id, name, time, subject, sets], index) =>
    ({ index, branch: data.branches[branch], id, name, time, subject, sets }));
  const branches = data.branches.map((name) => {
    const its = columns.filter((column) => column.branch === name);
    return { name, first: its[0], last: its[its.length - 1], columns: its };
  }).filter((branch) => branch.first);
  const isOfFiles = columns.every((column) => column.branch === "");
  const functions = data.functions.map(([name, short, object]) => ({ name, short, object }));

  const moveOf = (number) => {
    if (number === null) return null;
    const [parts, others, othersChange, unexplained] = data.moves[number];
    return { others, othersChange, unexplained, parts: parts.map(([place, before, after, callsBefore, callsAfter]) =>
      ({ ...functions[place], before, after, change: after - before, callsBefore, callsAfter })) };
  };
  const acceptedOf = (number) => {
    if (number === null) return null;
    const [who, why, commit] = data.accepted[number];
    return { who, why, commit };
  };

  const series = data.series.map(([id, key, metric, branch, , isExact, values, changes, definitions]) => {
    const one = { id, key: keys[key], metric: metrics[metric], branch: data.branches[branch],
      isExact: isExact === 1, columns: [], values: [], last: -1, definitions: data.definitions[definitions] };
    for (let i = 0; i < values.length; i += 2) {
      one.columns.push(values[i]);
      one.values.push(values[i + 1]);
    }
    one.changes = changes.map(([column, before, after, p, move, accepted, flame, others, verdict, isRegression]) =>
      ({ series: one, verdict, isRegression, column: columns[column], others, before, after, change: after - before,
        relative: before === 0 ? NaN : (after - before) / Math.abs(before), p, move, flame,
        accepted: acceptedOf(accepted) }));
    if (!one.isExact) one.last = one.columns[one.columns.length - 1];
    return one;
  });

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

  // Finds the last column of each exact series: from the newest column back, each set once per branch.
  for (const branch of branches) {
    const last = new Map();
    for (const column of [...branch.columns].reverse()) {
      for (const set of column.sets) if (!last.has(set)) last.set(set, column.index);
    }
    const sets = [...last].sort((a, b) => b[1] - a[1]);
    for (const one of series) {
      if (!one.isExact || one.branch !== branch.name) continue;
      const found = sets.find(([set]) => contains(data.sets[set], one.id));
      one.last = found ? found[1] : one.columns[one.columns.length - 1];
    }
  }

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
  const valuesOf = (line) => new Map(line.series.flatMap((one) => one.columns.map((at, i) => [at, one.values[i]])));
  const isComparable = (line, from) => line.series[0].columns[0] <= from;

  // The key of the eager variant with which a key is compared.
  const eagerOf = (key) => {
    const parts = key.key.split("/");
    if (parts.length < 5) return undefined;
    parts[parts.length - 4] = "eager";
    return byKey.get(parts.join("/"));
  };

  // The speed-ups of a key over eager by column: from the times in units of those that eager had in the same rounds,
  // if there are any; else from the wall times of both.
  function speedupsOf(key, branch) {
    if (key.backend === "eager") return new Map();
    const inverse = (line, times) => new Map([...valuesOf(line)].filter(([at]) => !times || times.has(at))
      .map(([at, value]) => [at, (times ? times.get(at) : 1) / value]));
    const relative = lineOf(key.key, data.named.relative, branch.name);
    if (relative) return inverse(relative);
    const line = lineOf(key.key, data.named.wall, branch.name), eager = eagerOf(key);
    const before = eager && lineOf(eager.key, data.named.wall, branch.name);
    return line && before ? inverse(line, valuesOf(before)) : new Map();
  }
  const lastSpeedup = (key, branch) => {
    const ratios = speedupsOf(key, branch);
    return ratios.get(Math.max(...ratios.keys()));
  };

  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const geometricMean = (ratios) => {
    const good = ratios.filter((ratio) => ratio > 0 && Number.isFinite(ratio));
    return good.length === 0 ? undefined : Math.exp(mean(good.map(Math.log)));
  };

  const breaks = data.breaks.map(([column, count, reasons]) => ({ column: columns[column], count, reasons }));
  const outcomes = data.outcomes.map(([column, key, state, reason]) =>
    ({ column: columns[column], key: keys[key], state, reason }));
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
        else (change.isRegression ? found.worse : found.more).push(change);
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
    const valueOf = (key, metric) => {
      const line = key && lineOf(key.key, metric, branch.name);
      return line && now(line);
    };
    const states = new Map(outcomes.filter((one) => one.column === branch.last).map((one) => [one.key, one.state]));
    const orderOf = ({ suite, test, language, backend }) =>
      [suite, test, language, backend === "eager" ? "" : backend].join("\n");
    return sortRows([...groups.values()], orderOf, true).map((group) => {
      const passing = group.keys.filter((key) => !isBad(states.get(key) || "PASS"));
      const againstEager = (metric) => group.backend === "eager" ? undefined
        : geometricMean(passing.map((key) => valueOf(eagerOf(key), metric) / valueOf(key, metric)));
      const since = passing.map((key) => lineOf(key.key, named.instructions, branch.name))
        .filter((line) => line && isComparable(line, from))
        .map((line) => now(line) / valueAt(line, from));
      const compiling = passing.map((key) => valueOf(key, named.ready) - valueOf(key, named.wall))
        .filter(Number.isFinite).map((time) => Math.max(0, time));
      const judged = group.keys.filter((key) => states.has(key) && states.get(key) !== "skipped");
      return { ...group, count: group.keys.length,
        pass: judged.length === 0 ? undefined
          : judged.filter((key) => !isBad(states.get(key))).length / judged.length,
        change: since.length === 0 ? undefined : geometricMean(since) - 1,
        instructions: againstEager(named.instructions), speedup: group.backend === "eager" ? undefined
          : geometricMean(passing.map((key) => lastSpeedup(key, branch))),
        memory: againstEager(named.memory),
        compile: compiling.length === 0 || group.backend === "eager" ? undefined : mean(compiling) };
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
    return chosen.filter(eagerOf).flatMap((key) => {
      const failure = key.backend === "eager" ? undefined : bad.get(placeOf(branch.last, key));
      if (failure) return [{ key, state: failure.state }];
      const ratio = lastSpeedup(key, branch);
      return ratio === undefined ? [] : [{ key, ratio }];
    });
  }

  // The geometric means of the speed-ups at each column, by group and backend.
  function speedupTrends(chosen, branch, from) {
    const trends = new Map();
    for (const key of chosen) {
      const trend = { group: groupOf(key), backend: backendOf(key), number: backendNumberOf(key), ratios: new Map() };
      const name = `${trend.group}\n${trend.backend}`;
      for (const [at, ratio] of speedupsOf(key, branch)) {
        if (at < from || bad.has(placeOf(columns[at], key))) continue;
        if (!trends.has(name)) trends.set(name, trend);
        addTo(trends.get(name).ratios, at, ratio);
      }
    }
    return [...trends.values()].map(({ ratios, ...trend }) => ({ ...trend,
      means: new Map([...ratios].map(([at, its]) => [at, geometricMean(its)])) }));
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
        for (let i = 1; i < one.values.length; ++i) {
          const ratio = one.values[i] / one.values[i - 1];
          if (ratio > 0 && Number.isFinite(ratio)) sums[group][one.columns[i] - first] += Math.log(ratio);
        }
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
    eagerOf, isMeasured, moveOf, breaks, outcomes, isBad, attention, summary, trend, compare,
    groupOf, backendOf, backendNumberOf, valueNumberOf, modelOf, speedups, speedupTrends,
    experiments: parseExperiments(data) };
};
