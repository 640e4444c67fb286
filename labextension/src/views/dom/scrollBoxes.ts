/**
 * Scroll boxes for wide content: focusable, with a name, and a fade on the sides with hidden content.
 *
 * Content that fits is left as it is.
 */
import { useEffect, useRef, type RefObject } from 'react';
import { useHost, type IWords } from '../host';

/** Elements that get a wrapping box, so that they keep their role for screen readers. */
const WRAPPED_SELECTOR = 'table, math[display="block"]:not(mjx-container math)';

/** Selector of the scroll boxes: wrapping boxes, and elements that scroll themselves. */
const BOX_SELECTOR =
  '[data-wide], pre, mjx-container[display="true"], .plm-Tool-input, .plm-Tool-output';

/** Keys that scroll, by the direction in which content must be hidden. */
const HORIZONTAL_KEYS = /^Arrow(Left|Right)$/;
const VERTICAL_KEYS = /^(Arrow(Up|Down)|Page(Up|Down)|Home|End)$/;

/** Wraps each table and displayed formula in a scroll box. */
export function wrapInScrollBox(root: ParentNode): void {
  for (const content of root.querySelectorAll(WRAPPED_SELECTOR)) {
    if (content.parentElement?.closest(`[data-wide], ${WRAPPED_SELECTOR}`)) {
      continue;
    }
    const box = document.createElement('div');
    box.dataset.wide = content.localName;
    content.replaceWith(box);
    box.append(content);
  }
}

/** Returns whether a key scrolls the focused box, and has no other use. */
export function isScrollKey({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement) || !('scrolls' in target.dataset)) {
    return false;
  }
  const isHigh = target.scrollHeight > target.clientHeight + 1;
  return HORIZONTAL_KEYS.test(key) || (isHigh && VERTICAL_KEYS.test(key));
}

/** Returns the reference of an element whose scroll boxes are kept up to date. */
export function useScrollBoxes<T extends HTMLElement>(): RefObject<T> {
  const { words } = useHost();
  const elementRef = useRef<T>(null);
  useEffect(() => {
    const root = elementRef.current;
    if (root === null || !('ResizeObserver' in window)) {
      return;
    }
    const watchedBoxes = new Set<HTMLElement>();
    const resizeObserver = new ResizeObserver(entries => {
      for (const box of new Set(entries.map(({ target }) => boxOf(target)))) {
        if (box !== null) {
          markBox(box, words);
        }
      }
    });
    const watchBox = (box: HTMLElement) => {
      if (!watchedBoxes.has(box)) {
        watchedBoxes.add(box);
        resizeObserver.observe(box);
      }
      // The content may grow while the box does not.
      if (box.firstElementChild !== null) {
        resizeObserver.observe(box.firstElementChild);
      }
    };
    let frame = 0;
    const addedElements = new Set<Element>();
    const changedBoxes = new Set<HTMLElement>();
    const watchAddedBoxes = () => {
      frame = 0;
      for (const node of addedElements) {
        node.querySelectorAll<HTMLElement>(BOX_SELECTOR).forEach(watchBox);
      }
      addedElements.clear();
      for (const box of changedBoxes) {
        if (root.contains(box)) {
          watchBox(box);
          markBox(box, words);
        }
      }
      changedBoxes.clear();
      for (const box of watchedBoxes) {
        if (!root.contains(box)) {
          watchedBoxes.delete(box);
          resizeObserver.unobserve(box);
        }
      }
    };
    const domObserver = new MutationObserver(changes => {
      for (const { addedNodes, target } of changes) {
        for (const node of [target, ...addedNodes]) {
          const box = boxOf(node);
          if (box !== null) {
            changedBoxes.add(box);
          }
        }
        for (const node of addedNodes) {
          if (node instanceof Element) {
            addedElements.add(node);
          }
        }
      }
      // After the frame's layout: asked before, sizes would have the page laid out twice.
      frame ||= requestAnimationFrame(() => {
        setTimeout(watchAddedBoxes);
      });
    });
    const onScroll = ({ target }: Event) => {
      if (target instanceof HTMLElement && 'scrolls' in target.dataset) {
        markBox(target, words);
      }
    };
    root.querySelectorAll<HTMLElement>(BOX_SELECTOR).forEach(watchBox);
    domObserver.observe(root, {
      subtree: true,
      childList: true,
      characterData: true
    });
    root.addEventListener('scroll', onScroll, { capture: true, passive: true });
    return () => {
      cancelAnimationFrame(frame);
      domObserver.disconnect();
      resizeObserver.disconnect();
      root.removeEventListener('scroll', onScroll, { capture: true });
    };
  }, [words]);
  return elementRef;
}

function boxOf(node: Node): HTMLElement | null {
  const element = node instanceof Element ? node : node.parentElement;
  return element?.closest<HTMLElement>(BOX_SELECTOR) ?? null;
}

/** Makes a box focusable while some of its content is hidden. */
function markBox(box: HTMLElement, words: IWords): void {
  const sides = hiddenSides(box);
  if (sides === '') {
    if ('scrolls' in box.dataset) {
      for (const name of ['data-scrolls', 'tabindex', 'role']) {
        box.removeAttribute(name);
      }
      if (nameOf(box, words) !== '') {
        box.removeAttribute('aria-label');
      }
    }
    return;
  }
  if (box.dataset.scrolls === sides && box.tabIndex === 0) {
    return;
  }
  box.dataset.scrolls = sides;
  box.tabIndex = 0;
  box.setAttribute('role', 'group');
  const name = nameOf(box, words);
  if (name !== '') {
    box.setAttribute('aria-label', name);
  }
}

/** Returns the sides with hidden content; an empty string if there is none. */
function hiddenSides(box: HTMLElement): string {
  const style = getComputedStyle(box);
  const { clientWidth, clientHeight, scrollWidth, scrollHeight } = box;
  const { scrollLeft, scrollTop } = box;
  const sides: string[] = [];
  const hiddenWidth = scrollWidth - clientWidth;
  if (hiddenWidth > 1 && /auto|scroll/.test(style.overflowX)) {
    const hiddenAtStart =
      style.direction === 'rtl' ? hiddenWidth + scrollLeft : scrollLeft;
    sides.push(
      ...(hiddenAtStart > 1 ? ['left'] : []),
      ...(hiddenWidth - hiddenAtStart > 1 ? ['right'] : [])
    );
  }
  const hiddenHeight = scrollHeight - clientHeight;
  if (hiddenHeight > 1 && /auto|scroll/.test(style.overflowY)) {
    sides.push(
      ...(scrollTop > 1 ? ['above'] : []),
      ...(hiddenHeight - scrollTop > 1 ? ['below'] : [])
    );
  }
  return sides.join(' ');
}

/** Returns the label of a box; empty for one that has its own. */
function nameOf(box: HTMLElement, words: IWords): string {
  if (box.dataset.wide === 'table') {
    return words.__('Table');
  }
  if (box.matches('pre')) {
    return words.__('Code');
  }
  return box.matches('section') ? '' : words.__('Formula');
}
