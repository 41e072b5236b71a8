// Graphs of speed-ups over eager: by model, and over commits.

// The scale of a graph by model: logarithmic, with eager's 1 in it.
function speedupScale(marks) {
  const ratios = marks.map(({ ratio }) => ratio).filter((ratio) => ratio > 0);
  const min = Math.min(0.9, ...ratios) / 1.05, max = Math.max(1.2, ...ratios) * 1.05;
  const size = Math.log(max / min);
  const steps = [1, 2, 3, 5, 7].flatMap((digit) => [0.001, 0.01, 0.1, 1, 10, 100].map((unit) => digit * unit));
  const all = max / min > 4 ? steps : [...steps, 0.8, 0.9, 1.2, 1.4, 1.7, 2.5];
  const at = (ratio) => 100 * Math.min(1, Math.max(0, Math.log(ratio / min) / size));
  // Labels are not closer to each other, to that of 1 and to the ends than this, in percent.
  const kGap = 6;
  const ticks = [1];
  for (const tick of all) {
    const place = at(tick);
    const isFree = ticks.every((other) => Math.abs(at(other) - place) > kGap);
    if (isFree && place > kGap / 2 && place < 100 - kGap / 2) ticks.push(tick);
  }
  return { ticks, at };
}

// The names without the beginning and the words that all have in common.
function shortModels(names) {
  const words = names.map((name) => name.split(" "));
  const isCommon = (word) => words.every((its) => its.includes(word));
  const short = words.map(([first, ...rest]) => [first, ...rest.filter((word) => !isCommon(word))].join(" "));
  const start = short[0].slice(0, short[0].indexOf("/") + 1);
  return short.every((name) => name.startsWith(start)) ? short.map((name) => name.slice(start.length)) : short;
}

function makeMark(mark, place, at, count) {
  const label = `${mark.backend}: ${mark.text}`;
  const link = make("a", { className: `mark mark-${mark.number % 5}`, href: mark.href, title: label,
    "aria-label": label });
  link.style.left = `${at(mark.ratio)}%`;
  link.style.color = colourOf(mark.number);
  const whisker = make("span", { className: "whisker" });
  whisker.style.left = `${at(mark.low)}%`;
  whisker.style.width = `${at(mark.high) - at(mark.low)}%`;
  whisker.style.color = colourOf(mark.number);
  // Each backend is a little lower than the one before, so that equal ones do not hide each other.
  for (const one of [link, whisker]) one.style.top = `${100 * (place + 1) / (count + 1)}%`;
  return [whisker, link];
}

const kMaxModels = 200; // rows of a graph

function makeAxis({ ticks, at }) {
  return make("th", { scope: "col", className: "axis" }, ...ticks.map((tick) => {
    const label = make("span", {}, `${Number(tick.toPrecision(2))}x`);
    label.style.left = `${at(tick)}%`;
    return label;
  }));
}

// The row of a model: its name, its marks and, if `hasOther`, the names of those without a ratio.
function makeModelRow(name, marks, backends, { ticks, at }, hasOther) {
  const plot = make("td", { className: "plot" });
  plot.style.background = ticks.map((tick) => `linear-gradient(var(${tick === 1 ? "--dim" : "--line"}) 0 0) `
    + `${at(tick)}% 0 / ${tick === 1 ? 2 : 1}px 100% no-repeat`).join(", ");
  plot.style.height = `${Math.max(20, 8 + 6 * backends.length)}px`;
  plot.append(...marks.filter(({ ratio }) => ratio !== undefined).flatMap((mark) =>
    makeMark(mark, backends.indexOf(mark.backend), at, backends.length)));
  const others = marks.filter(({ ratio }) => ratio === undefined).flatMap((mark, i) =>
    [i > 0 ? ", " : "", make("a", { href: mark.href }, `${mark.backend}: ${mark.text}`)]);
  return make("tr", {}, make("th", { scope: "row", className: "text" }, name), plot,
    ...(hasOther ? [make("td", { className: "text" }, ...others)] : []));
}

// A graph with a row for each model, the slowest first, and a mark for each backend.
// `marks`: { model, backend, number, ratio, low, high, text, href }; without a ratio the text says why. `number`: of
// the backend's appearance.
function makeSpeedupGraph(title, marks, backends) {
  const scale = speedupScale(marks);
  const byModel = new Map();
  for (const mark of marks) addTo(byModel, mark.model, mark);
  const worst = (its) => Math.min(...its.map(({ ratio }) => ratio || Infinity));
  const rows = [...byModel].sort(([, a], [, b]) => worst(a) - worst(b) || 0).slice(0, kMaxModels);
  const names = shortModels(rows.map(([name]) => name));
  const hasOther = marks.some(({ ratio }) => ratio === undefined);
  const body = rows.map(([, its], i) => makeModelRow(names[i], its, backends, scale, hasOther));
  const legend = make("ul", { className: "legend" }, ...backends.map((name) => {
    const { number } = marks.find(({ backend }) => backend === name);
    const shape = make("span", { className: `mark mark-${number % 5}` });
    shape.style.color = colourOf(number);
    return make("li", {}, shape, name);
  }));
  const head = make("tr", {}, make("th", { scope: "col", className: "text" }, "model"), makeAxis(scale),
    ...(hasOther ? [make("th", { scope: "col", className: "text" }, "no speed-up")] : []));
  const caption = `${title}${title ? ": " : ""}speed-up over eager by model`;
  const table = make("table", {}, make("caption", {}, caption, legend), make("thead", {}, head),
    make("tbody", {}, ...body));
  const more = byModel.size - rows.length;
  return make("figure", { className: "speedups" },
    make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": caption }, table),
    ...(more > 0 ? [make("p", {}, `These are the slowest. Filters show the other ${numbers.format(more)}.`)] : []));
}

// The view of all speed-ups.
const speedupViews = (page) => {
  "use strict";
  const { model, addressOf, isChosenKey, branchNow, from, openCommit } = page;
  const { experiments } = model;
  const hrefOf = (key) => addressOf(["benchmark", key]);

  const cellIn = (one, name) => one.each.cells[experiments.each.columns.findIndex((column) => column.name === name)];
  const isEager = (one) => cellIn(one, "code").text === kNoCell.text;

  function markOf(one) {
    const cellOf = (name) => cellIn(one, name);
    const failure = (one.facts.get("failed") || "").split(":")[0];
    const withoutEager = cellOf("code").tone === "good" ? "eager was not measured" : cellOf("code").text;
    const text = one.ratio === undefined ? failure || withoutEager : cellOf("speedup").text;
    return { group: one.row.group, backend: one.row.name, number: model.backendNumberOf(model.byKey.get(one.key)),
      order: experiments.summary.rows.indexOf(one.row),
      model: one.model, ratio: one.ratio, low: one.low, high: one.high, text, href: hrefOf(one.key) };
  }
  const marksOfExperiments = () => experiments.list
    .filter((one) => one.each && !isEager(one) && isChosenKey(model.byKey.get(one.key))).map(markOf);

  const marksOfKeys = () => model.speedups(model.keys.filter(isChosenKey), branchNow()).map(({ key, ratio, state }) =>
    ({ group: model.groupOf(key), backend: model.backendOf(key), number: model.backendNumberOf(key),
      model: model.modelOf(key), ratio, low: ratio,
      high: ratio, text: state || shownRatio(ratio), href: hrefOf(key.key) }));

  const grouped = (items) => {
    const groups = new Map();
    for (const item of items) addTo(groups, item.group, item);
    return [...groups];
  };

  function overTime() {
    const branch = branchNow();
    const keys = model.keys.filter(isChosenKey);
    const charts = grouped(model.speedupTrends(keys, branch, from())).flatMap(([group, trends]) => {
      const rows = branch.columns.map((column) => ({ column, values: trends.map(({ means }) =>
        (means.has(column.index) ? means.get(column.index) : null)) }))
        .filter(({ values }) => values.some((value) => value !== null));
      const title = `${group}${group ? ": " : ""}speed-up over eager, geometric mean`;
      return rows.length < 2 ? [] : [makeChart({ title, names: trends.map(({ backend }) => backend),
        numbers: trends.map(({ number }) => number), rows, format: shownRatio, open: openCommit })];
    });
    return charts.length === 0 ? [] : [make("div", { className: "charts" }, ...charts),
      make("p", {}, "Means over the models that passed at that commit: a model that begins to fail moves them.")];
  }

  function show() {
    const marks = experiments ? marksOfExperiments() : marksOfKeys();
    const graphs = grouped(marks).map(([group, its]) => makeSpeedupGraph(group, its,
      [...new Set(sortRows(its, ({ order }) => order, true).map(({ backend }) => backend))]));
    const parts = [...overTime(), ...graphs];
    return ["Speed-ups over eager", ...(parts.length > 0 ? parts : [make("p", {}, "There are none.")])];
  }

  const hasWall = model.metrics.some(({ name }) => name === model.data.named.wall);
  const hasAny = () => Boolean(experiments) || (hasWall && model.speedups(model.keys, branchNow()).length > 0);
  return [{ name: "speedups", title: "Speed-ups", show, has: hasAny }];
};
