// Shows the values of a point in a tooltip: of the point nearest to the pointer or finger, or of the point that has the
// focus. Each plot is one tab stop. Within a plot the arrow keys move to the next or previous point, Home and End move
// to the first and the last.
(function () {
  'use strict';
  var REACH = 24; // a point is shown if it is within this many pixels of the pointer
  var tip = document.getElementById('tip');
  var shown = null;

  function points(plot) {
    return Array.prototype.slice.call(plot.querySelectorAll('circle'));
  }

  // A browser shows a <title> as its own tooltip, on top of this one. The title therefore becomes an aria-label when it
  // is first used.
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

  // The tooltip goes above the point if it fits there, otherwise below, and never beyond the sides of the page.
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
    tip.style.left = '0'; // measured at the right edge of the page, it would be too narrow
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
      // Measured points are on top of the curves that predict them, and their values are preferred.
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
  // The Tab key can scroll the page.
  window.addEventListener('scroll', place, { passive: true });
  window.addEventListener('resize', place);

  // The filter: shows the claims with one verdict, or all. A link to a claim that is hidden shows all of them again.
  var buttons = Array.prototype.slice.call(document.querySelectorAll('.filter button'));
  function filter(verdict) {
    buttons.forEach(function (b) { b.setAttribute('aria-pressed', String(b.dataset.verdict === verdict)); });
    Array.prototype.forEach.call(document.querySelectorAll('main [data-claim]'), function (e) {
      e.hidden = verdict !== '' && e.dataset.claim !== verdict;
    });
    Array.prototype.forEach.call(document.querySelectorAll('main h2[data-group]'), function (h) {
      h.hidden = !document.querySelector('section.claim[data-group="' + h.dataset.group + '"]:not([hidden])');
    });
  }
  buttons.forEach(function (b) {
    b.addEventListener('click', function () { filter(b.dataset.verdict); });
  });
  if (buttons.length > 0) buttons[0].parentNode.hidden = false;
  window.addEventListener('hashchange', function () {
    var target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.closest('[hidden]')) {
      filter('');
      target.scrollIntoView();
    }
  });
  // Folded tables are printed, too.
  window.addEventListener('beforeprint', function () {
    Array.prototype.forEach.call(document.querySelectorAll('details'), function (d) { d.open = true; });
  });
})();
