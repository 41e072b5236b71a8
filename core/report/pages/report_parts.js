// Parts of the views of a report: formatted values, tables, graphs.
const kUnits = { ns: [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]] };
const kMinus = "\u2212";

const shown = (metric, value) => {
  if (value === undefined || value === null || Number.isNaN(value)) return "-";
  if (metric.unit === "x") return `${Number(value.toPrecision(3))}x`;
  const units = kUnits[metric.unit];
  if (!units) return numbers.format(value);
  const [unit, size] = units.find(([, least]) => Math.abs(value) >= least) || units[units.length - 1];
  return `${Number((value / size).toPrecision(3))} ${unit}`;
};
const shownChange = (metric, change) =>
  (change > 0 ? "+" : change < 0 ? kMinus : "") + shown(metric, Math.abs(change));
const shownShare = (share) => (share === undefined || !Number.isFinite(share) ? "-"
  : `${share > 0 ? "+" : share < 0 ? kMinus : ""}${(100 * Math.abs(share)).toFixed(2)}%`);
const shownRatio = (ratio) => (ratio === undefined ? "-" : `${ratio.toFixed(2)}x`);
const shownDate = (time) => (time === 0 ? "" : new Date(1000 * time).toISOString().slice(0, 10));
const plural = (count, one, many = one + "s") => `${numbers.format(count)} ${count === 1 ? one : many}`;

const kShownRows = 20; // of a list on the first page

// Returns the rows in the order of a key; rows without one come last when it falls.
function sortRows(rows, key, isUp) {
  const way = isUp ? 1 : -1;
  const weight = (value) => (value === undefined || Number.isNaN(value) ? -Infinity : value);
  return [...rows].sort((a, b) => {
    const left = weight(key(a)), right = weight(key(b));
    return way * (left < right ? -1 : left > right ? 1 : 0);
  });
}

function makeRow(columns, row) {
  const cells = columns.map((column, i) => {
    const content = column.of(row);
    const tone = column.tone ? column.tone(row) : "";
    const properties = { className: [column.text ? "text" : "", tone].filter(Boolean).join(" ") };
    return i === 0 && column.text ? make("th", { scope: "row", ...properties }, content)
      : make("td", properties, content);
  });
  return make("tr", {}, ...cells);
}

// A table that shows its rows a page at a time. Columns: { title, of(row): a text or a node, text, sort(row) };
// a column with `sort` can be sorted by it. `after(row)`: the elements below the row. `label`: the caption as
// a text, if it is an element. `className`: for styles.
function makeTable({ caption, label = caption, columns, rows, sorted, page = 100, after, className = "" }) {
  const body = make("tbody");
  const more = make("p", { className: "more" });
  let order = sorted || null;
  let count = page;
  const heads = columns.map((column, place) => {
    const head = make("th", { scope: "col", className: column.text ? "text" : "" });
    if (!column.sort) { head.append(column.title); return head; }
    const button = make("button", { type: "button", className: "sort" }, column.title);
    button.addEventListener("click", () => {
      const isSame = order && order.place === place;
      order = { place, isUp: isSame ? !order.isUp : Boolean(column.text) };
      fill();
    });
    head.append(button);
    return head;
  });

  function below(row) {
    const content = after ? after(row) : [];
    return content.length > 0 ? [make("tr", { className: "below" }, make("td", { colSpan: columns.length,
      className: "text" }, ...content))] : [];
  }
  function fill() {
    heads.forEach((head, i) => {
      if (order && order.place === i) head.setAttribute("aria-sort", order.isUp ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    const all = order ? sortRows(rows, columns[order.place].sort, order.isUp) : rows;
    body.replaceChildren(...all.slice(0, count).flatMap((row) => [makeRow(columns, row), ...below(row)]));
    more.replaceChildren();
    if (all.length <= count) return;
    const next = Math.min(5 * page, all.length - count);
    const button = make("button", { type: "button" }, `Show ${numbers.format(next)} more`);
    button.addEventListener("click", () => { count += 5 * page; fill(); });
    more.append(`${numbers.format(count)} of ${numbers.format(all.length)}. `, button);
  }
  fill();
  const table = make("table", { className }, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...heads)), body);
  const scroll = make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": label }, table);
  return make("div", {}, scroll, more);
}

// A list of facts: pairs of a name and a value.
const makeFacts = (pairs) => make("dl", {}, ...pairs.filter(([, value]) => value)
  .flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));

// Removes Dygraph's legend: the page's policy forbids its styles, and our legends are lists.
Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);
// For labels of axes, which Dygraph takes for HTML.
const escaped = (text) => text.replace(/[&<>]/g, (c) => `&#${c.codePointAt(0)};`);

const kColours = ["#0b62c4", "#c2410c", "#15803d", "#9333ea", "#a16207", "#0e7490", "#be185d", "#4d7c0f"];

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;
// The appearance of a line or mark by its number, which is the same in all graphs for a backend or a suite.
const colourOf = (number) => kColours[number % kColours.length];
const kDashes = [null, [7, 3], [2, 2], [9, 3, 2, 3]];
const dashOf = (number) => Math.floor(number / kColours.length) % kDashes.length;
// Returns the number with the same colour and another dash.
const dashed = (number, times) => number + times * kColours.length;

// Draws a point at each change of a line of steps, so that one at the border of the graph is seen, too.
function drawStep(rows, place) {
  return (graph, name, context, x, y, colour, radius, at) => {
    const value = (row) => (row < 0 || row >= rows.length ? null : rows[row].values[place]);
    let before = at - 1;
    while (before >= 0 && value(before) === null) --before;
    const isStep = at < rows.length && value(before) !== null && value(before) !== value(at);
    if (isStep || rows.length === 1) Dygraph.Circles.DEFAULT(graph, name, context, x, y, colour, 3.5);
  };
}

// The appearance of a graph whose x is the distance of commits from the first row.
function graphOptions(names, numbers, rows, format, isSteps) {
  const labelAt = (x) => {
    const row = rows.find(({ column }) => column.index - rows[0].column.index === x);
    return row ? shownDate(row.column.time) || row.column.name : "";
  };
  return {
    labels: ["commit", ...names], colors: numbers.map(colourOf),
    series: Object.fromEntries(names.map((name, i) => [name, { strokePattern: kDashes[dashOf(numbers[i])],
      ...(isSteps ? { drawPointCallback: drawStep(rows, i) } : {}) }])),
    stepPlot: isSteps, drawPoints: true, pointSize: 3, strokeWidth: 1.5,
    connectSeparatedPoints: true, legend: "never", highlightCircleSize: 4, gridLineColor: isDark() ? "#444" : "#ddd",
    axisLabelFontSize: 12, axisLineColor: isDark() ? "#777" : "#999", yRangePad: 12, xRangePad: 6,
    showRangeSelector: rows.length > 60, rangeSelectorHeight: 28,
    axes: {
      x: { axisLabelFormatter: (x) => escaped(labelAt(x)), axisLabelWidth: 84, pixelsPerLabel: 110 },
      y: { axisLabelFormatter: (y) => escaped(format(y)), axisLabelWidth: 86 },
    },
  };
}

// Draws a dashed vertical line at each place.
function drawMarks(context, area, places) {
  context.strokeStyle = isDark() ? "#c96" : "#b45309";
  context.setLineDash([4, 3]);
  for (const x of places) {
    context.beginPath();
    context.moveTo(x, area.y);
    context.lineTo(x, area.y + area.h);
    context.stroke();
  }
  context.setLineDash([]);
}

function makeLegend(names, numbers) {
  return names.length < 2 ? [] : [make("ul", { className: "legend" }, ...names.map((name, i) => {
    const mark = make("span", { className: `line dash-${dashOf(numbers[i])}` });
    mark.style.color = colourOf(numbers[i]);
    return make("li", {}, mark, name);
  }))];
}

// Lines over columns. `numbers`: of their appearances. `rows`: [{ column, values }], a value for each name, or null.
// Left and Right go from column to column, Enter and a click open one. Behind it is a table of the same values.
function makeChart({ title, names, numbers = names.map((name, i) => i), rows, format, isSteps, marks = [], open }) {
  const canvas = make("div", { className: "canvas" });
  const status = make("p", { className: "at", role: "status" });
  const box = make("div", { className: "chart", tabIndex: 0, role: "group",
    "aria-label": `${title}: a graph. Left and Right go through the commits, Enter opens one.` }, canvas, status);
  const nameOf = (column) => `${column.name} ${shownDate(column.time)} ${column.branch ? column.subject : ""}`.trim();
  let at = rows.length - 1;
  const tell = (place) => {
    at = place;
    const row = rows[place];
    status.replaceChildren(`${nameOf(row.column)}: ` + names
      .map((name, i) => (row.values[i] === null ? null : (names.length > 1 ? `${name} ` : "") + format(row.values[i])))
      .filter(Boolean).join(", "));
  };
  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -rows.length, End: rows.length }[event.key];
    if (step) {
      event.preventDefault();
      tell(Math.max(0, Math.min(rows.length - 1, at + step)));
      if (graph) graph.setSelection(at);
    } else if (event.key === "Enter" && event.target === box) {
      open(rows[at].column);
    }
  });
  const first = rows[0].column.index;
  const points = rows.map((row) => [row.column.index - first, ...row.values]);
  // The last value of a line of steps holds beyond its column.
  if (isSteps && rows.length > 1) {
    const [x, ...values] = points[points.length - 1];
    points.push([x + Math.max(0.5, x / 40), ...values]);
  }
  const rowAt = (place) => Math.min(place, rows.length - 1);
  let graph = null;
  // Draws once the element is on the page and has a width.
  const draw = () => {
    graph = new Dygraph(canvas, points, {
      ...graphOptions(names, numbers, rows, format, isSteps),
      highlightCallback: (event, x, selected, row) => tell(rowAt(row)),
      clickCallback: (event, x, selected) => open(rows[rowAt(selected[0].idx)].column),
      underlayCallback: (context, area, dygraph) => {
        drawMarks(context, area, marks.map((column) => dygraph.toDomXCoord(column.index - first)));
      },
    });
    canvas.querySelectorAll("canvas").forEach((one) => one.setAttribute("aria-hidden", "true"));
  };
  new ResizeObserver(() => { if (!graph && canvas.clientWidth > 0) draw(); }).observe(canvas);
  tell(at);
  const behind = make("details", {}, make("summary", {}, "As a table"));
  behind.addEventListener("toggle", () => behind.append(makeTable({ caption: title,
    columns: [{ title: "commit", text: true, of: (row) => nameOf(row.column) },
      ...names.map((name, i) => ({ title: name, of: (row) => (row.values[i] === null ? "" : format(row.values[i])) }))],
    rows: [...rows].reverse() })), { once: true });
  return make("figure", {}, make("figcaption", {}, title), ...makeLegend(names, numbers), box, behind);
}
