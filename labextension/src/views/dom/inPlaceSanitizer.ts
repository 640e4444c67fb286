/**
 * A second look at what stands in the page: what the list has not and the host did not add goes.
 *
 * The sanitizer has looked at the elements before; this is for what a host made of them, such as
 * maths, or links that it found in printed words. What JupyterLab adds is named here, and nothing
 * else of it is kept.
 */
import {
  isAllowed,
  isAllowedLink,
  disallowedAttributes,
  type ISanitizeOptions
} from './sanitizer';

/** Maths that was typeset: by MathJax, or as MathML. */
const MATHS = 'mjx-container, math';

/** A link to a file beside the notebook, as JupyterLab's link handler makes it. */
const OPENS_FILES =
  'a[data-commandlinker-command="rendermime:handle-local-link"]';

/** What makes a box scroll by keyboard; words of others lost it when they were sanitized. */
const SCROLLS = /^(data-(wide|scrolls)|tabindex|role|aria-label)$/;

/** JupyterLab's own attributes and ours, by the element that they are put on. */
const ADDED: [string, RegExp][] = [
  ['div[data-wide], pre[data-scrolls]', SCROLLS],
  ['a.jp-InternalAnchorLink', /^(class|target)$/],
  [OPENS_FILES, /^(data-commandlinker-(command|args)|target|href)$/],
  ['a', /^(target|rel|data-(path|locator))$/],
  ['h1, h2, h3, h4, h5, h6', /^data-jupyter-id$/],
  ['span.numbering-entry', /^class$/],
  ['mark.jp-mod-search', /^class$/]
];

/** What maths may not have, whoever typeset it. */
const COMMANDS =
  /^(on|data-commandlinker|formaction|action|srcset|src|slot|is|popover|name$)/i;
const OURS = /^(jp-|lm-|plm-|p-)/i;
const FLOATS =
  /position\s*:(?!\s*(?:relative|static))|url\(|image-set|expression|@|\\/i;

/** Takes out of the page what may not stand there. */
export function sanitizeInPlace(
  root: ParentNode & Node,
  place: ISanitizeOptions = {}
): void {
  for (const element of root.querySelectorAll('*')) {
    if (!root.contains(element)) {
      continue;
    }
    if (element.closest(MATHS) !== null) {
      disarmMaths(element);
    } else if (isAllowed(element)) {
      const given = ADDED.filter(([place]) => element.matches(place));
      for (const name of disallowedAttributes(element, place)) {
        if (!given.some(([, names]) => names.test(name))) {
          element.removeAttribute(name);
        }
      }
    } else {
      element.replaceWith(element.textContent);
    }
  }
}

function disarmMaths(element: Element): void {
  for (const name of element.getAttributeNames()) {
    const value = element.getAttribute(name) ?? '';
    const isLink = /(^|:)href$/i.test(name);
    if (
      COMMANDS.test(name) ||
      (isLink && !isAllowedLink(value.trim())) ||
      (name === 'style' && FLOATS.test(value))
    ) {
      element.removeAttribute(name);
    }
  }
  element.classList.remove(
    ...[...element.classList].filter(one => OURS.test(one))
  );
}
