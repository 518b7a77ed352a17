// Draws the charts: colours come from the page's style sheet, so that they follow light, dark and print.
(function () {
  "use strict";
  var source = document.getElementById("figures");
  if (!source) { return; }
  if (!window.Plotly) {
    var note = document.getElementById("no-plotly");
    if (note) { note.hidden = false; }
    return;
  }
  var figures = JSON.parse(source.textContent);
  var root = document.documentElement;
  var PRINT_WIDTH = 672; // CSS pixels of an A4 page between its margins

  function colour(name) { return getComputedStyle(root).getPropertyValue(name).trim(); }

  // A copy in which every "--name" is that variable's colour; data arrays are shared, not copied.
  function themed(value, key) {
    if (typeof value === "string") { return value.slice(0, 2) === "--" ? colour(value) : value; }
    if (Array.isArray(value)) { return key === "x" || key === "y" ? value : value.map(function (each) { return themed(each); }); }
    if (value && typeof value === "object") {
      var copy = {};
      Object.keys(value).forEach(function (name) { copy[name] = themed(value[name], name); });
      return copy;
    }
    return value;
  }

  function layoutOf(figure, box, printing) {
    var layout = themed(figure.layout);
    var width = printing ? PRINT_WIDTH : box.clientWidth;
    var narrow = width < 520;
    layout.width = width;
    layout.height = printing ? 190 : narrow ? 240 : box.closest(".first") ? 330 : 280;
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.font = { family: getComputedStyle(document.body).fontFamily, size: narrow || printing ? 11 : 12, color: colour("--text") };
    layout.hoverlabel = { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--text") } };
    layout.margin = { l: narrow ? 46 : 58, r: 12, t: layout.shapes ? 22 : 12, b: 46 };
    layout.xaxis.nticks = narrow ? 5 : 10;
    if (narrow || printing) { (layout.annotations || []).forEach(function (each) { each.font.size = narrow ? 9.5 : 10; }); }
    layout.dragmode = window.matchMedia("(pointer: coarse)").matches ? false : "zoom";
    return layout;
  }

  var hiddenLines = {}; // for each chart the lines that the legend has switched off
  function drawAll(printing, only) {
    Object.keys(figures).forEach(function (key) {
      var box = document.getElementById("chart-" + key);
      if (!box || (only && only !== key)) { return; }
      var figure = figures[key];
      var data = themed(figure.data);
      (hiddenLines[key] || []).forEach(function (number) { data[number].visible = false; });
      window.Plotly.react(box, data, layoutOf(figure, box, printing), {
        displaylogo: false,
        displayModeBar: false,
        doubleClick: "reset",
      });
    });
  }

  document.querySelectorAll(".legend button").forEach(function (button) {
    button.addEventListener("click", function () {
      var key = button.dataset.chart;
      button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") === "false" ? "true" : "false");
      hiddenLines[key] = Array.from(document.querySelectorAll('.legend button[data-chart="' + key + '"][aria-pressed="false"]'))
        .map(function (each) { return Number(each.dataset.line); });
      drawAll(false, key);
    });
  });

  var opened = [];
  function beginPrint() {
    root.classList.add("printing");
    document.querySelectorAll("details.prints:not([open])").forEach(function (each) { each.open = true; opened.push(each); });
    drawAll(true);
  }
  function endPrint() {
    root.classList.remove("printing");
    opened.splice(0).forEach(function (each) { each.open = false; });
    drawAll(false);
  }

  drawAll(window.matchMedia("print").matches);
  window.addEventListener("beforeprint", beginPrint);
  window.addEventListener("afterprint", endPrint);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { drawAll(false); });
  var waiting = 0;
  var width = window.innerWidth;
  window.addEventListener("resize", function () {
    if (window.innerWidth === width || root.classList.contains("printing")) { return; }
    width = window.innerWidth;
    window.clearTimeout(waiting);
    waiting = window.setTimeout(function () { drawAll(false); }, 120);
  });
  document.querySelectorAll("button[data-copy]").forEach(function (button) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent).then(function () {
        button.textContent = "copied";
      });
    });
  });
})();
