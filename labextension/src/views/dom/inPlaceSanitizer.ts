/**
 * Sanitizes elements in the page: removes what is neither on the list nor added by the host.
 *
 * The sanitizer has processed the elements before; this handles what a host made of them, such as
 * maths, or links that it found in printed text. JupyterLab's additions are listed here, and no others
 * are kept.
 */
import {
  isAllowed,
  isAllowedLink,
  disallowedAttributes,
  type ISanitizeOptions
} from './sanitizer';

/** Typeset maths: by MathJax, or as MathML. */
const MATHS_SELECTOR = 'mjx-container, math';

/** A link to a file beside the notebook, as JupyterLab's link handler makes it. */
const FILE_LINK_SELECTOR =
  'a[data-commandlinker-command="rendermime:handle-local-link"]';

/** Attributes of scroll boxes; the sanitizer removed them from untrusted content before. */
const SCROLL_ATTRIBUTES = /^(data-(wide|scrolls)|tabindex|role|aria-label)$/;

/** Attributes that JupyterLab or we add, by the element that gets them. */
const HOST_ATTRIBUTES: [string, RegExp][] = [
  ['div[data-wide], pre[data-scrolls]', SCROLL_ATTRIBUTES],
  ['a.jp-InternalAnchorLink', /^(class|target)$/],
  [FILE_LINK_SELECTOR, /^(data-commandlinker-(command|args)|target|href)$/],
  ['a', /^(target|rel|data-(path|locator))$/],
  ['h1, h2, h3, h4, h5, h6', /^data-jupyter-id$/],
  ['span.numbering-entry', /^class$/],
  ['mark.jp-mod-search', /^class$/]
];

/** Attributes that maths must not have, whatever typeset it. */
const ACTIVE_ATTRIBUTES =
  /^(on|data-commandlinker|formaction|action|srcset|src|slot|is|popover|name$)/i;
const HOST_CLASSES = /^(jp-|lm-|plm-|p-)/i;
const UNSAFE_STYLE =
  /position\s*:(?!\s*(?:relative|static))|url\(|image-set|expression|@|\\/i;

/** Removes disallowed elements and attributes in the page. */
export function sanitizeInPlace(
  root: ParentNode & Node,
  options: ISanitizeOptions = {}
): void {
  for (const element of root.querySelectorAll('*')) {
    if (!root.contains(element)) {
      continue;
    }
    if (element.closest(MATHS_SELECTOR) !== null) {
      disarmMaths(element);
    } else if (isAllowed(element)) {
      const hostAdditions = HOST_ATTRIBUTES.filter(([selector]) =>
        element.matches(selector)
      );
      for (const name of disallowedAttributes(element, options)) {
        if (!hostAdditions.some(([, names]) => names.test(name))) {
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
      ACTIVE_ATTRIBUTES.test(name) ||
      (isLink && !isAllowedLink(value.trim())) ||
      (name === 'style' && UNSAFE_STYLE.test(value))
    ) {
      element.removeAttribute(name);
    }
  }
  element.classList.remove(
    ...[...element.classList].filter(name => HOST_CLASSES.test(name))
  );
}
