#!/usr/bin/env python3
"""Tests the report in a real browser: browser.py KITH LAB_REPORT

Two reports are tested: the report of a real claim, written by KITH, and one with texts and plots that are difficult to
show, written by LAB_REPORT --write DIR. A probe, which is a script that tests the page from inside, is added to a copy
of each page. One window shows the copies in frames of several widths, and the probes post their results to the document
of that window. Exits with 77 if there is no browser.
"""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

WIDTHS = [320, 375, 768, 1280]
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]

# Inserted before everything else in the page: collects errors.
WATCH = """<script>
window.wrong = [];
window.addEventListener('error', function (e) { window.wrong.push('error: ' + e.message); }, true);
window.addEventListener('unhandledrejection', function (e) { window.wrong.push('rejection: ' + e.reason); });
document.addEventListener('securitypolicyviolation', function (e) { window.wrong.push('request: ' + e.blockedURI); });
console.error = console.warn = function () {
  window.wrong.push('console: ' + Array.prototype.join.call(arguments, ' '));
};
</script>
"""

# Inserted after everything else: tests hover, focus, keys and taps on points of each plot, and measures the page.
PROBE = """<script>
window.addEventListener('load', function () {
  var seen = {wrong: window.wrong, figures: {}, ids: [], links: [], plots_tested: 0};
  var tip = document.getElementById('tip'), all = function (what, where) {
    return Array.prototype.slice.call((where || document).querySelectorAll(what));
  };
  function words(circle) {
    var title = circle.querySelector('title');
    return title ? title.textContent : circle.getAttribute('aria-label');
  }
  function expect(holds, what) { if (!holds) seen.wrong.push(what); }
  function expect_tip(figure, action, circle, exactly) {
    var where = figure.id + ', ' + action + ': ';
    var at = circle.getBoundingClientRect(), box = tip.getBoundingClientRect();
    expect(!tip.hidden && box.width > 0, where + 'no tooltip is shown');
    var near = all('circle', figure).filter(function (c) {
      var r = c.getBoundingClientRect();
      return exactly ? c === circle : Math.hypot(r.left - at.left, r.top - at.top) < 12;
    }).map(words);
    expect(near.indexOf(tip.textContent) >= 0, where + 'the tooltip shows wrong values: ' + tip.textContent);
    var inside = box.left >= 0 && box.right <= document.documentElement.clientWidth;
    expect(inside, where + 'the tooltip is outside the page');
  }
  function mouse(svg, type, circle) {
    var r = circle.getBoundingClientRect();
    var x = r.left + r.width / 2, y = r.top + r.height / 2;
    svg.dispatchEvent(new MouseEvent(type, {bubbles: true, clientX: x, clientY: y}));
  }
  all('figure').forEach(function (figure) {
    var svg = figure.querySelector('svg.plot'), circles = all('circle.p, circle.q', svg);
    expect(all('circle', svg).every(function (c) { return c.querySelector('title'); }),
           figure.id + ': a point has no title');
    seen.figures[figure.id] = {
      p: all('circle.p', svg).length, q: all('circle.q', svg).length, bars: all('path.bars', svg).length,
      marks: all('text.mark', svg).length, legend: all('.legend li', figure).length, series: all('g', svg).length
    };
    circles.forEach(function (c) {
      var x = c.cx.baseVal.value, y = c.cy.baseVal.value, box = svg.viewBox.baseVal;
      expect(x >= 0 && x <= box.width && y >= 0 && y <= box.height, figure.id + ': a point is outside');
    });
    if (circles.length === 0) return;
    seen.plots_tested++;
    [0, Math.floor(circles.length / 2), circles.length - 1].forEach(function (i) {
      figure.scrollIntoView();
      mouse(svg, 'mousemove', circles[i]);
      expect_tip(figure, 'hover', circles[i], false);
      svg.dispatchEvent(new MouseEvent('mouseleave'));
      expect(tip.hidden, figure.id + ': the tooltip stays when the pointer leaves');
      mouse(svg, 'click', circles[i]);
      expect_tip(figure, 'tap', circles[i], false);
      svg.dispatchEvent(new MouseEvent('mouseleave'));
      document.activeElement.blur();
      circles[i].focus();
      expect_tip(figure, 'focus', circles[i], true);
    });
    expect(all('circle[tabindex="0"]', svg).length === 1, figure.id + ': the plot is not exactly one tab stop');
    document.activeElement.blur();
    circles[0].focus();
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'End', bubbles: true}));
    if (circles.length > 1) {
      expect_tip(figure, 'End', circles[circles.length - 1], true);
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true}));
      expect_tip(figure, 'left arrow', circles[circles.length - 2], true);
    }
    window.dispatchEvent(new Event('scroll'));
    expect_tip(figure, 'scrolling', document.activeElement, true);
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}));
    expect(tip.hidden, figure.id + ': the tooltip stays after Escape');
    document.activeElement.blur();
  });
  var root = document.documentElement;
  seen.open_at_first = all('details[open]').length;
  seen.folded = all('details').length;
  function visible() {
    return all('section.claim').filter(function (e) { return e.getBoundingClientRect().height > 0; })
      .map(function (e) { return [e.id, all('h3 .verdict', e)[0].textContent]; });
  }
  seen.filters = all('.filter button').map(function (button) {
    button.click();
    var on = all('.filter button[aria-pressed="true"]');
    var entries = all('.contents li[data-claim]').filter(function (e) { return e.getBoundingClientRect().height > 0; });
    return [button.textContent, visible(), entries.length, on.length === 1 && on[0] === button];
  });
  location.hash = '#' + all('section.claim')[0].id; // it is hidden now, and the link shows it again
  window.dispatchEvent(new Event('hashchange'));
  seen.after_link = visible().length;
  seen.back = all('section.claim .back a').map(function (e) { return e.getAttribute('href'); });
  all('details').forEach(function (d) { d.open = true; });
  seen.width = window.innerWidth;
  seen.sideways = root.scrollWidth - root.clientWidth;
  seen.too_wide = all('body *').filter(function (e) {
    var box = e.getBoundingClientRect();
    return box.width > 0 && box.right > root.clientWidth + 1 && !e.closest('svg') && !e.closest('thead');
  }).map(function (e) { return e.tagName + '.' + e.className; }).slice(0, 5);
  seen.ids = all('[id]').map(function (e) { return e.id; });
  seen.links = all('nav a').map(function (e) { return e.getAttribute('href'); });
  seen.claims = all('section.claim').map(function (e) {
    return [e.id, all('h3 .verdict', e).map(function (v) { return v.textContent; })];
  });
  seen.scripts = document.scripts.length;
  parent.postMessage({frame: window.name, seen: seen}, '*');
});
</script>
"""

FRAMES = """<!DOCTYPE html><meta charset="utf-8"><body>%s<script>
window.addEventListener('message', function (e) {
  var pre = document.createElement('pre');
  pre.className = 'seen';
  pre.textContent = JSON.stringify(e.data);
  document.body.appendChild(pre);
});
%s
</script>"""

failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)


def browser():
    for name in BROWSERS:
        if shutil.which(name):
            return shutil.which(name)
    print("skipped: no browser found (Debian: chromium)")
    sys.exit(77)


def show(box, page, size, *options):
    """Shows a page and returns what the browser prints. Messages on its console are failures."""
    profile = tempfile.mkdtemp(dir=box)
    done = subprocess.run(
        [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
         "--no-first-run", "--hide-scrollbars", "--enable-logging=stderr", "--user-data-dir=" + profile,
         "--window-size=%d,%d" % size, "--virtual-time-budget=20000", *options, "file://" + page],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
        env={**os.environ, "HOME": box, "XDG_CONFIG_HOME": box, "XDG_CACHE_HOME": box})
    words = done.stderr.decode(errors="replace")
    expect(done.returncode == 0, "%s: the browser exits with %d:\n%s" % (page, done.returncode, words[-2000:]))
    for line in words.splitlines():
        expect(":CONSOLE" not in line, "console: " + line)
    return done.stdout.decode()


def probed(folder):
    """Writes a copy of the page with the probe next to the page, and returns its URL."""
    with open(os.path.join(folder, "index.html"), encoding="utf-8") as file:
        html = file.read()
    external = re.search(r"https?://|<link|<img|@import|src=", html)
    expect(not external, folder + ": the page refers to an external resource")
    html = html.replace("<head>\n", "<head>\n" + WATCH, 1).replace("</body>", PROBE + "</body>", 1)
    with open(os.path.join(folder, "probed.html"), "w", encoding="utf-8") as file:
        file.write(html)
    return "file://" + os.path.join(folder, "probed.html")


def look(box, folders):
    """Returns the results of the probes by folder and width. Frames load one by one: only one can have the focus."""
    pages = [(folder, width, probed(folder)) for folder in folders for width in WIDTHS]
    frames = "".join('<iframe name="%d" style="width:%dpx;height:800px;border:0;display:block"></iframe>' % (i, width)
                     for i, (_, width, _) in enumerate(pages))
    script = """var pages = %s, at = -1;
function next() { if (++at < pages.length) document.getElementsByName(at)[0].src = pages[at]; }
window.addEventListener('message', next);
next();""" % json.dumps([url for _, _, url in pages])
    path = os.path.join(box, "frames.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(FRAMES % (frames, script))
    dom = show(box, path, (1400, 1000), "--dump-dom")
    seen = {}
    for text in re.findall(r'<pre class="seen">(.*?)</pre>', dom, re.S):
        text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        data = json.loads(text)
        folder, width, _ = pages[int(data["frame"])]
        seen[folder, width] = data["seen"]
    expect(len(seen) == len(pages), "%d of %d probes returned a result" % (len(seen), len(pages)))
    return seen


def rows_of(folder, name):
    with open(os.path.join(folder, name), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, strict=True))


def judge(folder, width, seen):
    where = "%s at %d pixels: " % (os.path.basename(folder), width)
    for wrong in seen["wrong"][:10]:
        expect(False, where + wrong)
    expect(seen["width"] == width, where + "the frame has %d pixels" % seen["width"])
    expect(seen["sideways"] <= 0, where + "scrolls sideways by %d: %s" % (seen["sideways"], seen["too_wide"]))
    expect(seen["too_wide"] == [], where + "too wide: %s" % seen["too_wide"])
    expect(len(seen["ids"]) == len(set(seen["ids"])), where + "an id occurs twice")
    for link in seen["links"]:
        expect(link[1:] in seen["ids"], where + link + ": broken link")
    for claim, verdicts in seen["claims"]:
        expect("#" + claim in seen["links"], where + claim + " is not in the contents")
        expect(len(verdicts) == 1, where + claim + " does not have exactly one verdict")
    expect(seen["open_at_first"] == 0 and seen["folded"] > 0, where + "tables are not folded")
    every = {name: verdict for name, (verdict,) in seen["claims"]}
    for text, shown, entries, pressed in seen["filters"]:
        wanted = every if text == "all" else {n: v for n, v in every.items() if v == text}
        expect(dict(shown) == wanted and wanted and entries == len(wanted) and pressed,
               where + "the filter '%s' shows %s" % (text, shown))
    expect({f[0] for f in seen["filters"]} == {"all"} | set(every.values()), where + "a verdict has no filter")
    expect(seen["after_link"] == len(every), where + "a link to a hidden claim does not show it")
    expect(seen["back"] == ["#contents"] * len(every) and "contents" in seen["ids"], where + "no way back")
    points = {}
    for row in rows_of(folder, "points.csv"):
        counts = points.setdefault(row["figure"], {"measured": 0, "predicted": 0})
        counts[row["part"]] += row["x"] != "" and row["y"] != ""
    expect(set(points) <= set(seen["figures"]), where + "figures are missing")
    with_points = [p for p in points.values() if sum(p.values()) > 0]
    expect(seen["plots_tested"] >= len(with_points), where + "some plots were not tested")
    for figure, got in seen["figures"].items():
        counts = points.get(figure, {"measured": 0, "predicted": 0})
        expect(got["p"] == counts["measured"],
               where + "%s has %d points, not %d" % (figure, got["p"], counts["measured"]))
        expect(min(counts["predicted"], 40) <= got["q"] <= counts["predicted"],
               where + figure + ": wrong number of circles on curves")
        expect(got["marks"] >= 2, where + figure + " has no tick marks")
        expect(got["legend"] == got["series"], where + figure + " has a legend with the wrong number of series")


def pixels(path):
    """Returns the pixels of an 8-bit PNG as bytes, and the number of bytes per pixel."""
    with open(path, "rb") as file:
        data = file.read()
    at, body, head = 8, b"", None
    while at < len(data):
        size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        if kind == b"IHDR":
            head = data[at + 8:at + 8 + size]
        if kind == b"IDAT":
            body += data[at + 8:at + 8 + size]
        at += size + 12
    width, height = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big")
    step = {2: 3, 6: 4}[head[9]]
    raw, line, out = zlib.decompress(body), bytearray(width * step), bytearray()
    for y in range(height):
        start = y * (width * step + 1)
        kind, above, line = raw[start], line, bytearray(raw[start + 1:start + 1 + width * step])
        for i in range(len(line) if kind else 0):
            left, up, corner = (line[i - step] if i >= step else 0), above[i], (above[i - step] if i >= step else 0)
            guess = left + up - corner
            nearest = min((left, up, corner), key=lambda v: abs(guess - v))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
        out += line
    return bytes(out), step


def colours(box, page, name, *options):
    """Shows a page and returns the mean brightness and the number of colours of the screenshot."""
    path = os.path.join(box, name + ".png")
    show(box, page, (700, 600), "--screenshot=" + path, *options)
    if not os.path.exists(path):
        expect(False, name + ": no screenshot was written")
        return 0, 0
    data, step = pixels(path)
    different = {data[i:i + 3] for i in range(0, len(data), step)}
    brightness = sum(data[0::step]) / (len(data) / step)
    return brightness, len(different)


def main():
    kith, lab_report = sys.argv[1:]
    browser()
    start = time.time()
    with tempfile.TemporaryDirectory(prefix="kith-browser-", ignore_cleanup_errors=True) as box:
        real, difficult = os.path.join(box, "real"), os.path.join(box, "difficult")
        subprocess.run([kith, "lab", "--quick", "--seed", "1", "--report", real, "B2"], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([lab_report, "--write", difficult], check=True)
        for (folder, width), seen in look(box, [real, difficult]).items():
            judge(folder, width, seen)
        page = os.path.join(real, "index.html")
        light, light_colours = colours(box, page, "light", "--blink-settings=preferredColorScheme=1")
        dark, dark_colours = colours(box, page, "dark", "--blink-settings=preferredColorScheme=0")
        expect(light > 200 and light_colours > 20, "light: brightness %.0f, %d colours" % (light, light_colours))
        expect(dark < 70 and dark_colours > 20, "dark: brightness %.0f, %d colours" % (dark, dark_colours))
    for failure in failures:
        print("FAILED:", failure)
    print("browser: %s, %.0f s, %d failures" % (browser(), time.time() - start, len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
