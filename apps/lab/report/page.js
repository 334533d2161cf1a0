// Values of points: shown for the one nearest to the pointer or finger, and for the one that has the focus. A plot is one
// stop of the Tab key; the arrow keys go from point to point in it, Home and End to the first and the last.
(function () {
  'use strict';
  var REACH = 24; // pixels from the pointer within which a point counts as meant
  var tip = document.getElementById('tip');
  var shown = null;

  function points(plot) {
    return Array.prototype.slice.call(plot.querySelectorAll('circle'));
  }

  // The browser would show a <title> by itself, after a while and over ours: it becomes a label when it is first used.
  function words(point) {
    var title = point.querySelector('title');
    if (title) {
      point.setAttribute('aria-label', title.textContent);
      point.removeChild(title);
    }
    return point.getAttribute('aria-label');
  }

  function hide() {
    if (shown) shown.classList.remove('on');
    shown = null;
    tip.hidden = true;
  }

  // Above the point where there is room, and never beyond the page's sides.
  function place() {
    if (!shown) return;
    var at = shown.getBoundingClientRect(), box = tip.getBoundingClientRect();
    var left = at.left + at.width / 2 - box.width / 2;
    var top = at.top - box.height - 8;
    tip.style.left = Math.max(8, Math.min(left, document.documentElement.clientWidth - box.width - 8)) + 'px';
    tip.style.top = (top < 8 ? at.bottom + 8 : top) + 'px';
  }

  function show(point) {
    if (point === shown) return;
    hide();
    shown = point;
    point.classList.add('on');
    tip.textContent = words(point);
    tip.style.left = '0'; // at the right edge it would be narrow
    tip.hidden = false;
    place();
  }

  function nearest(plot, x, y) {
    var box = plot.getBoundingClientRect();
    var scale = box.width / plot.viewBox.baseVal.width;
    var best = null, least = REACH * REACH;
    points(plot).forEach(function (point) {
      var dx = point.cx.baseVal.value * scale - (x - box.left);
      var dy = point.cy.baseVal.value * scale - (y - box.top);
      var far = dx * dx + dy * dy;
      // Measured points lie on the curves that predict them: theirs are the values to show.
      if (point.classList.contains('p')) far = Math.max(0, far - 36);
      if (far < least) {
        least = far;
        best = point;
      }
    });
    return best;
  }

  function point_at(event) {
    var point = nearest(event.currentTarget, event.clientX, event.clientY);
    if (point) show(point);
    else hide();
  }

  function step(event) {
    var all = points(event.currentTarget), at = all.indexOf(document.activeElement), to = -1;
    if (event.key === 'Escape') hide();
    if (at < 0) return;
    if (event.key === 'ArrowRight' || event.key === 'ArrowDown') to = Math.min(at + 1, all.length - 1);
    if (event.key === 'ArrowLeft' || event.key === 'ArrowUp') to = Math.max(at - 1, 0);
    if (event.key === 'Home') to = 0;
    if (event.key === 'End') to = all.length - 1;
    if (to < 0) return;
    event.preventDefault();
    all[at].setAttribute('tabindex', '-1');
    all[to].setAttribute('tabindex', '0');
    all[to].focus();
  }

  Array.prototype.forEach.call(document.querySelectorAll('svg.plot'), function (plot) {
    points(plot).forEach(function (point) {
      point.setAttribute('tabindex', '-1');
      point.setAttribute('role', 'img');
    });
    var first = plot.querySelector('circle.p') || plot.querySelector('circle');
    if (first) first.setAttribute('tabindex', '0');
    plot.addEventListener('mousemove', point_at);
    plot.addEventListener('click', point_at);
    plot.addEventListener('mouseleave', hide);
    plot.addEventListener('focusin', function (event) { show(event.target); });
    plot.addEventListener('focusout', hide);
    plot.addEventListener('keydown', step);
  });
  // The Tab key scrolls to what it finds.
  window.addEventListener('scroll', place, { passive: true });
  window.addEventListener('resize', place);
})();
