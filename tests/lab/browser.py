#!/usr/bin/env python3
"""The report in a real browser: browser.py KITH LAB_REPORT

KITH is the tool, whose report of a claim is looked at; LAB_REPORT --write DIR writes one of claims that are as ugly as can
be. Copies of both pages get a probe, a script that tries them from inside, and are shown at several widths in one window;
what the probes saw comes back in the window's document. Exits 77 where there is no browser.
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

WIDTHS = [320, 400, 700, 1200]
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]

# Before everything else in the page: what goes wrong is kept.
WATCH = """<script>
window.wrong = [];
window.addEventListener('error', function (e) { window.wrong.push('error: ' + e.message); }, true);
window.addEventListener('unhandledrejection', function (e) { window.wrong.push('rejection: ' + e.reason); });
document.addEventListener('securitypolicyviolation', function (e) { window.wrong.push('request: ' + e.blockedURI); });
console.error = console.warn = function () { window.wrong.push('console: ' + Array.prototype.join.call(arguments, ' ')); };
</script>
"""

# Behind everything else: hover, focus, keys and taps are tried on points of each plot, and the page is measured.
PROBE = """<script>
window.addEventListener('load', function () {
  var seen = {wrong: window.wrong, figures: {}, ids: [], links: [], plots_tried: 0};
  var tip = document.getElementById('tip'), all = function (what, where) {
    return Array.prototype.slice.call((where || document).querySelectorAll(what));
  };
  function words(circle) {
    var title = circle.querySelector('title');
    return title ? title.textContent : circle.getAttribute('aria-label');
  }
  function expect(holds, what) { if (!holds) seen.wrong.push(what); }
  function tell(figure, way, circle, exactly) {
    var where = figure.id + ', ' + way + ': ', at = circle.getBoundingClientRect(), box = tip.getBoundingClientRect();
    expect(!tip.hidden && box.width > 0, where + 'no values are shown');
    var near = all('circle', figure).filter(function (c) {
      var r = c.getBoundingClientRect();
      return exactly ? c === circle : Math.hypot(r.left - at.left, r.top - at.top) < 12;
    }).map(words);
    expect(near.indexOf(tip.textContent) >= 0, where + 'other values are shown: ' + tip.textContent);
    expect(box.left >= 0 && box.right <= document.documentElement.clientWidth, where + 'values are shown outside');
  }
  function mouse(svg, type, circle) {
    var r = circle.getBoundingClientRect();
    svg.dispatchEvent(new MouseEvent(type, {bubbles: true, clientX: r.left + r.width / 2, clientY: r.top + r.height / 2}));
  }
  all('figure').forEach(function (figure) {
    var svg = figure.querySelector('svg.plot'), circles = all('circle.p, circle.q', svg);
    expect(all('circle', svg).every(function (c) { return c.querySelector('title'); }), figure.id + ': a point has no title');
    seen.figures[figure.id] = {
      p: all('circle.p', svg).length, q: all('circle.q', svg).length, bars: all('path.bars', svg).length,
      marks: all('text.mark', svg).length, legend: all('.legend li', figure).length, series: all('g', svg).length
    };
    circles.forEach(function (c) {
      var x = c.cx.baseVal.value, y = c.cy.baseVal.value, box = svg.viewBox.baseVal;
      expect(x >= 0 && x <= box.width && y >= 0 && y <= box.height, figure.id + ': a point is outside');
    });
    if (circles.length === 0) return;
    seen.plots_tried++;
    [0, Math.floor(circles.length / 2), circles.length - 1].forEach(function (i) {
      figure.scrollIntoView();
      mouse(svg, 'mousemove', circles[i]);
      tell(figure, 'hover', circles[i], false);
      svg.dispatchEvent(new MouseEvent('mouseleave'));
      expect(tip.hidden, figure.id + ': values stay when the pointer leaves');
      mouse(svg, 'click', circles[i]);
      tell(figure, 'tap', circles[i], false);
      svg.dispatchEvent(new MouseEvent('mouseleave'));
      document.activeElement.blur();
      circles[i].focus();
      tell(figure, 'focus', circles[i], true);
    });
    expect(all('circle[tabindex="0"]', svg).length === 1, figure.id + ': not just one stop of the Tab key');
    document.activeElement.blur();
    circles[0].focus();
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'End', bubbles: true}));
    if (circles.length > 1) {
      tell(figure, 'End', circles[circles.length - 1], true);
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true}));
      tell(figure, 'left arrow', circles[circles.length - 2], true);
    }
    window.dispatchEvent(new Event('scroll'));
    tell(figure, 'scrolling', document.activeElement, true);
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}));
    expect(tip.hidden, figure.id + ': values stay after Escape');
    document.activeElement.blur();
  });
  var root = document.documentElement;
  seen.width = window.innerWidth;
  seen.sideways = root.scrollWidth - root.clientWidth;
  seen.too_wide = all('body *').filter(function (e) {
    var box = e.getBoundingClientRect();
    return box.width > 0 && box.right > root.clientWidth + 1 && !e.closest('svg') && !e.closest('thead');
  }).map(function (e) { return e.tagName + '.' + e.className; }).slice(0, 5);
  seen.ids = all('[id]').map(function (e) { return e.id; });
  seen.links = all('nav a').map(function (e) { return e.getAttribute('href'); });
  seen.claims = all('section.claim').map(function (e) { return [e.id, all('h3 .verdict', e).map(function (v) { return v.textContent; })]; });
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
    print("skipped: no browser is here (Debian: chromium)")
    sys.exit(77)


def show(box, page, size, *options):
    """What the browser prints; its complaints about the page are failures."""
    profile = tempfile.mkdtemp(dir=box)
    done = subprocess.run(
        [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
         "--no-first-run", "--hide-scrollbars", "--enable-logging=stderr", "--user-data-dir=" + profile,
         "--window-size=%d,%d" % size, "--virtual-time-budget=20000", *options, "file://" + page],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
        env={**os.environ, "HOME": box, "XDG_CONFIG_HOME": box, "XDG_CACHE_HOME": box})
    words = done.stderr.decode(errors="replace")
    expect(done.returncode == 0, "%s: the browser ends with %d:\n%s" % (page, done.returncode, words[-2000:]))
    for line in words.splitlines():
        expect(":CONSOLE" not in line, "console: " + line)
    return done.stdout.decode()


def probed(folder):
    """The page with the probe, beside the page."""
    with open(os.path.join(folder, "index.html"), encoding="utf-8") as file:
        html = file.read()
    expect(not re.search(r"https?://|<link|<img|@import|src=", html), folder + ": the page asks for something outside")
    html = html.replace("<head>\n", "<head>\n" + WATCH, 1).replace("</body>", PROBE + "</body>", 1)
    with open(os.path.join(folder, "probed.html"), "w", encoding="utf-8") as file:
        file.write(html)
    return "file://" + os.path.join(folder, "probed.html")


def look(box, folders):
    """What the probes saw, by folder and width: frames one after the other, since only one can have the focus."""
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
    expect(len(seen) == len(pages), "%d of %d probes answered" % (len(seen), len(pages)))
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
    expect(len(seen["ids"]) == len(set(seen["ids"])), where + "an id is there twice")
    for link in seen["links"]:
        expect(link[1:] in seen["ids"], where + link + " leads nowhere")
    for claim, verdicts in seen["claims"]:
        expect("#" + claim in seen["links"] and len(verdicts) == 1, where + claim + " has not one verdict and a link")
    points = {}
    for row in rows_of(folder, "points.csv"):
        counts = points.setdefault(row["figure"], {"measured": 0, "predicted": 0})
        counts[row["part"]] += row["x"] != "" and row["y"] != ""
    expect(set(points) <= set(seen["figures"]), where + "figures are missing")
    expect(seen["plots_tried"] >= len([p for p in points.values() if sum(p.values()) > 0]), where + "plots were not tried")
    for figure, got in seen["figures"].items():
        counts = points.get(figure, {"measured": 0, "predicted": 0})
        expect(got["p"] == counts["measured"], where + "%s has %d points, not %d" % (figure, got["p"], counts["measured"]))
        expect(min(counts["predicted"], 40) <= got["q"] <= counts["predicted"], where + figure + ": places of curves")
        expect(got["marks"] >= 2, where + figure + " has no marks at its axes")
        expect(got["legend"] == got["series"], where + figure + " has another number of series in its legend")


def pixels(path):
    """Bytes of an 8-bit PNG's pixels, and how many a pixel has."""
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
    """Mean brightness and number of colours of what is shown."""
    path = os.path.join(box, name + ".png")
    show(box, page, (700, 600), "--screenshot=" + path, *options)
    if not os.path.exists(path):
        expect(False, name + ": no picture came")
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
        real, ugly = os.path.join(box, "real"), os.path.join(box, "ugly")
        subprocess.run([kith, "lab", "--quick", "--seed", "1", "--report", real, "B2"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([lab_report, "--write", ugly], check=True)
        for (folder, width), seen in look(box, [real, ugly]).items():
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
