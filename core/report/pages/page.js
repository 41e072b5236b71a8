// Functions that the scripts of all pages share.
const make = (name, properties = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element) element[key] = value; else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};
// Adds a value to the list of a key.
const addTo = (map, key, value) => { if (map.has(key)) map.get(key).push(value); else map.set(key, [value]); };
// Returns a text that lines may break after its slashes, and only there.
const breakable = (text) => make("span", { className: "words" },
  ...text.split("/").flatMap((part, i) => (i === 0 ? [part] : ["/", make("wbr"), part])));
const numbers = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });
const signed = (value) => (value > 0 ? "+" : "") + numbers.format(value);
const percent = (part, whole) => (whole === 0 ? "-" : (100 * part / whole).toFixed(2) + "%");
