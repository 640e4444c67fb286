/**
 * Sanitizes untrusted HTML by one list of allowed elements and attributes; the rest is removed.
 *
 * DOMPurify walks the elements, and its result is put into the page as elements: text that is parsed a
 * second time may become something else. Maths, and JupyterLab's additions, are made afterwards, from
 * the text. No listed element loads, sends or runs anything, and none has a style;
 * `allowedElements.json` is the list for Python too.
 */
import createDOMPurify, {
  type DOMPurify,
  type UponSanitizeAttributeHookEvent
} from 'dompurify';
import allowedLists from './allowedElements.json';

const TAGS = new Set(allowedLists.tags);
const ATTRIBUTES = new Set(allowedLists.attributes);

const ALLOWED_LINK = new RegExp(`^(${allowedLists.links.join('|')})`, 'i');
const ALLOWED_IMAGE = new RegExp(
  `^data:(${allowedLists.pictures.join('|')})[;,]`,
  'i'
);

/** A relative path to a file of the notebook's folder; JupyterLab opens it, not the server's URL. */
const LOCAL_PATH = /^(?!.*%(?:2e|2f|5c|00))[^\s:\\/?#][^:\\]*$/i;

/** Classes for syntax colours, by the element that may have them. */
const COLOUR_CLASSES: Record<string, RegExp> = {
  code: /^language-[\w+#.-]{1,40}$/,
  span: /^(?:hljs-[\w-]{1,40}|language-[\w-]{1,40}|[a-z]{1,20}_{1,2}|ansi-[a-z-]{1,40}|ͼ[0-9a-z]{1,5})$/
};

/** How often HTML is parsed and sanitized again before it becomes plain text. */
const MAX_ROUNDS = 3;

/** The prefix of ids, so that none equals one of the page's. */
const ID_PREFIX = 'user-content-';

/** Additions to the list in a certain place. */
export interface ISanitizeOptions {
  /** Whether links to files beside the notebook are allowed, for a host that opens them. */
  allowsLocalLinks?: boolean;
  /** The unguessable prefix of placeholder marks for content that is inserted afterwards. */
  markPrefix?: string;
}

/** The attribute with a placeholder mark. */
export const FORMULA_ATTRIBUTE = 'data-mark';

/** Returns whether a link's URL is allowed. */
export function isAllowedLink(
  address: string,
  options: ISanitizeOptions = {}
): boolean {
  return (
    ALLOWED_LINK.test(address) ||
    (options.allowsLocalLinks === true && LOCAL_PATH.test(address))
  );
}

/** Returns whether an image's URL is allowed: one that needs no request. */
function isAllowedImage(address: string): boolean {
  return ALLOWED_IMAGE.test(address);
}

/** Returns HTML as harmless elements, in a document that loads nothing. */
export function sanitize(
  html: string,
  options: ISanitizeOptions = {}
): DocumentFragment {
  walk = { options, pictures: [] };
  try {
    // A page that begins with a line break has a body; one that begins with a frameset has none.
    const body = purifier().sanitize(`<br>${html}`, CONFIG);
    body.firstChild?.remove();
    walk.pictures.forEach(([image, address]) => {
      replaceByLink(image, address, options);
    });
    return body;
  } finally {
    walk = { options: {}, pictures: [] };
  }
}

/** Returns HTML that every parser turns into the same elements, or plain text. */
export function sanitizeText(
  html: string,
  options: ISanitizeOptions = {}
): string {
  let sanitized = htmlOf(sanitize(html, options));
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    // Parsed as the page will do; if this changes it, it is sanitized again.
    const sanitizedAgain = htmlOf(sanitize(sanitized, options));
    if (sanitizedAgain === sanitized) {
      return sanitized;
    }
    sanitized = sanitizedAgain;
  }
  const container = inertElement();
  container.textContent = sanitize(html, options).textContent;
  return container.innerHTML;
}

/** Returns whether the list has an element; for its attributes see `disallowedAttributes`. */
export function isAllowed(element: Element): boolean {
  return (
    element.namespaceURI === 'http://www.w3.org/1999/xhtml' &&
    TAGS.has(element.localName) &&
    (element.localName !== 'input' || isTask(element))
  );
}

/** Returns the names of an element's attributes that are not allowed. */
export function disallowedAttributes(
  element: Element,
  options: ISanitizeOptions = {}
): string[] {
  return element.getAttributeNames().filter(name => {
    const value = element.getAttribute(name) ?? '';
    return allowedValue(element, name, value, options) !== value;
  });
}

const CONFIG = {
  RETURN_DOM_FRAGMENT: true as const,
  ALLOWED_TAGS: allowedLists.tags,
  ALLOWED_ATTR: [...allowedLists.attributes, FORMULA_ATTRIBUTE],
  ADD_URI_SAFE_ATTR: [...allowedLists.attributes, FORMULA_ATTRIBUTE].filter(
    name => name !== 'href' && name !== 'src'
  ),
  ALLOWED_NAMESPACES: ['http://www.w3.org/1999/xhtml'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/|[^:]*$)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false
};

/** The options of the walk in progress; DOMPurify's hooks get only the element. */
let walk: { options: ISanitizeOptions; pictures: [Element, string][] } = {
  options: {},
  pictures: []
};

let sharedPurifier: DOMPurify | null = null;

/** Returns our own DOMPurify instance: its hooks are independent of those of others. */
function purifier(): DOMPurify {
  if (sharedPurifier === null) {
    sharedPurifier = createDOMPurify(window);
    sharedPurifier.addHook('uponSanitizeElement', (node, { tagName }) => {
      if (tagName === 'input' && node instanceof Element && !isTask(node)) {
        node.remove();
      }
    });
    sharedPurifier.addHook('uponSanitizeAttribute', keepAttribute);
    sharedPurifier.addHook('afterSanitizeAttributes', openInNewPage);
  }
  return sharedPurifier;
}

function keepAttribute(
  element: Element,
  event: UponSanitizeAttributeHookEvent
): void {
  const { attrName, attrValue } = event;
  const keptValue = allowedValue(element, attrName, attrValue, walk.options);
  if (attrName === 'src' && keptValue === null && element.localName === 'img') {
    walk.pictures.push([element, attrValue]);
  }
  if (keptValue === null) {
    event.keepAttr = false;
  } else {
    event.attrValue = keptValue;
  }
}

/** Returns the allowed value of an attribute, or null if it must be removed. */
function allowedValue(
  element: Element,
  name: string,
  value: string,
  options: ISanitizeOptions
): string | null {
  const allow = (isAllowedHere: boolean) => (isAllowedHere ? value : null);
  switch (name) {
    case FORMULA_ATTRIBUTE:
      return allow(
        options.markPrefix !== undefined && value.startsWith(options.markPrefix)
      );
    case 'href':
      return allow(element.localName === 'a' && isAllowedLink(value, options));
    case 'src':
      return allow(element.localName === 'img' && isAllowedImage(value));
    case 'id':
      return value.startsWith(ID_PREFIX) ? value : ID_PREFIX + value;
    case 'class': {
      const colour = COLOUR_CLASSES[element.localName];
      const keptClasses = value
        .split(/\s+/)
        .filter(className => colour?.test(className) === true);
      return keptClasses.length > 0 ? keptClasses.join(' ') : null;
    }
    case 'target':
    case 'rel':
      return allow(element.localName === 'a');
    case 'type':
    case 'checked':
    case 'disabled':
      return allow(element.localName === 'input');
    default:
      return allow(ATTRIBUTES.has(name));
  }
}

/** Makes a link open a new page, which gets no reference to this one. */
function openInNewPage(element: Element): void {
  if (element.localName !== 'a') {
    return;
  }
  element.removeAttribute('target');
  element.removeAttribute('rel');
  if (/^https?:/i.test(element.getAttribute('href') ?? '')) {
    element.setAttribute('target', '_blank');
    element.setAttribute('rel', 'noopener noreferrer nofollow');
  }
}

/** Returns whether an input is a disabled checkbox, as in a task list; no other input is allowed. */
function isTask(element: Element): boolean {
  return (
    element.getAttribute('type')?.toLowerCase() === 'checkbox' &&
    element.hasAttribute('disabled')
  );
}

/** Replaces an external image by a link to it, so that it is not loaded. */
function replaceByLink(
  image: Element,
  address: string,
  options: ISanitizeOptions
): void {
  const alt = image.getAttribute('alt') ?? '';
  const text = alt === '' || alt === 'Image' ? address : alt;
  const isInLink = image.closest('a') !== null;
  if (isInLink || !isAllowedLink(address, options) || address.startsWith('#')) {
    image.replaceWith(text);
    return;
  }
  const link = image.ownerDocument.createElement('a');
  link.textContent = text;
  link.setAttribute('href', address);
  openInNewPage(link);
  image.replaceWith(link);
}

/** Returns an element in a document that loads nothing. */
function inertElement(): HTMLElement {
  return document.implementation.createHTMLDocument('').createElement('div');
}

function htmlOf(fragment: DocumentFragment): string {
  const container = inertElement();
  container.append(fragment);
  return container.innerHTML;
}
