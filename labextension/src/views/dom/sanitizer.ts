/**
 * The one list of what words of others may be in the page: what is not on it is taken out.
 *
 * DOMPurify walks the elements, and what it leaves is put into the page as elements: a text that
 * is parsed a second time may become something else. Maths, and what JupyterLab adds, is made
 * afterwards, from the words. No element of the list loads, sends or commands something, none
 * has a style, and `allowed.json` is the list for Python too.
 */
import createDOMPurify, {
  type DOMPurify,
  type UponSanitizeAttributeHookEvent
} from 'dompurify';
import allowed from './allowedElements.json';

const TAGS = new Set(allowed.tags);
const ATTRIBUTES = new Set(allowed.attributes);

const LINK = new RegExp(`^(${allowed.links.join('|')})`, 'i');
const PICTURE = new RegExp(`^data:(${allowed.pictures.join('|')})[;,]`, 'i');

/** Leads to a file of the notebook's folder; JupyterLab opens it, and no address of the server. */
const LOCAL = /^(?!.*%(?:2e|2f|5c|00))[^\s:\\/?#][^:\\]*$/i;

/** Classes that only colour code, by the element that may have them. */
const COLOURS: Record<string, RegExp> = {
  code: /^language-[\w+#.-]{1,40}$/,
  span: /^(?:hljs-[\w-]{1,40}|language-[\w-]{1,40}|[a-z]{1,20}_{1,2}|ansi-[a-z-]{1,40}|ͼ[0-9a-z]{1,5})$/
};

/** Goes before an id, so that none is one of the page's. */
const PREFIX = 'user-content-';

/** What a place allows besides. */
export interface ISanitizeOptions {
  /** Links to files beside the notebook, for a host that opens them. */
  local?: boolean;
  /** The beginning of a mark that nobody else can know, for what is put in afterwards. */
  mark?: string;
}

/** The attribute that holds a mark. */
export const FORMULA_ATTRIBUTE = 'data-mark';

/** Tells whether a link may lead there. */
export function isAllowedLink(
  address: string,
  place: ISanitizeOptions = {}
): boolean {
  return LINK.test(address) || (place.local === true && LOCAL.test(address));
}

/** Tells whether a picture may be shown; nothing is loaded for one of these. */
function isAllowedImage(address: string): boolean {
  return PICTURE.test(address);
}

/** Returns HTML as elements that can do nothing, in a document that loads nothing. */
export function sanitize(
  html: string,
  place: ISanitizeOptions = {}
): DocumentFragment {
  now = { place, pictures: [] };
  try {
    // A page that begins with a line break has a body; one that begins with a frameset has none.
    const made = purifier().sanitize(`<br>${html}`, CONFIG);
    made.firstChild?.remove();
    now.pictures.forEach(([image, address]) => {
      name(image, address, place);
    });
    return made;
  } finally {
    now = { place: {}, pictures: [] };
  }
}

/** Returns HTML that becomes the same elements whoever parses it, or words only. */
export function sanitizeText(
  html: string,
  place: ISanitizeOptions = {}
): string {
  let made = written(sanitize(html, place));
  for (let round = 0; round < 3; round += 1) {
    // Parsed as the page will; what changes by that is looked at again.
    const again = written(sanitize(made, place));
    if (again === made) {
      return made;
    }
    made = again;
  }
  const words = inert();
  words.textContent = sanitize(html, place).textContent;
  return words.innerHTML;
}

/** Tells whether the list has an element; of its attributes see `wrong`. */
export function isAllowed(element: Element): boolean {
  return (
    element.namespaceURI === 'http://www.w3.org/1999/xhtml' &&
    TAGS.has(element.localName) &&
    (element.localName !== 'input' || isTask(element))
  );
}

/** Names the attributes of an element that the list has not. */
export function disallowedAttributes(
  element: Element,
  place: ISanitizeOptions = {}
): string[] {
  return element.getAttributeNames().filter(name => {
    const value = element.getAttribute(name) ?? '';
    return keep(element, name, value, place) !== value;
  });
}

const CONFIG = {
  RETURN_DOM_FRAGMENT: true as const,
  ALLOWED_TAGS: allowed.tags,
  ALLOWED_ATTR: [...allowed.attributes, FORMULA_ATTRIBUTE],
  ADD_URI_SAFE_ATTR: [...allowed.attributes, FORMULA_ATTRIBUTE].filter(
    name => name !== 'href' && name !== 'src'
  ),
  ALLOWED_NAMESPACES: ['http://www.w3.org/1999/xhtml'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/|[^:]*$)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false
};

/** What the walk that goes on is about; DOMPurify's hooks are told only the element. */
let now: { place: ISanitizeOptions; pictures: [Element, string][] } = {
  place: {},
  pictures: []
};

let made: DOMPurify | null = null;

/** Makes our own DOMPurify: hooks of others are not ours, and ours are not theirs. */
function purifier(): DOMPurify {
  if (made === null) {
    made = createDOMPurify(window);
    made.addHook('uponSanitizeElement', (node, { tagName }) => {
      if (tagName === 'input' && node instanceof Element && !isTask(node)) {
        node.remove();
      }
    });
    made.addHook('uponSanitizeAttribute', keepAttribute);
    made.addHook('afterSanitizeAttributes', leadOut);
  }
  return made;
}

function keepAttribute(
  element: Element,
  event: UponSanitizeAttributeHookEvent
): void {
  const { attrName, attrValue } = event;
  const kept = keep(element, attrName, attrValue, now.place);
  if (attrName === 'src' && kept === null && element.localName === 'img') {
    now.pictures.push([element, attrValue]);
  }
  if (kept === null) {
    event.keepAttr = false;
  } else {
    event.attrValue = kept;
  }
}

/** Returns what an attribute may say, or null where it may not be. */
function keep(
  element: Element,
  name: string,
  value: string,
  place: ISanitizeOptions
): string | null {
  const allow = (right: boolean) => (right ? value : null);
  switch (name) {
    case FORMULA_ATTRIBUTE:
      return allow(place.mark !== undefined && value.startsWith(place.mark));
    case 'href':
      return allow(element.localName === 'a' && isAllowedLink(value, place));
    case 'src':
      return allow(element.localName === 'img' && isAllowedImage(value));
    case 'id':
      return value.startsWith(PREFIX) ? value : PREFIX + value;
    case 'class': {
      const colour = COLOURS[element.localName];
      const kept = value.split(/\s+/).filter(one => colour?.test(one) === true);
      return kept.length > 0 ? kept.join(' ') : null;
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

/** A link leads to a page of its own, which learns nothing of this one. */
function leadOut(element: Element): void {
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

/** The box of a task list can do nothing: it is switched off. */
function isTask(element: Element): boolean {
  return (
    element.getAttribute('type')?.toLowerCase() === 'checkbox' &&
    element.hasAttribute('disabled')
  );
}

/** A picture from elsewhere is not loaded, but named: a person may follow the link. */
function name(image: Element, address: string, place: ISanitizeOptions): void {
  const alt = image.getAttribute('alt') ?? '';
  const named = alt === '' || alt === 'Image' ? address : alt;
  const isInLink = image.closest('a') !== null;
  if (isInLink || !isAllowedLink(address, place) || address.startsWith('#')) {
    image.replaceWith(named);
    return;
  }
  const link = image.ownerDocument.createElement('a');
  link.textContent = named;
  link.setAttribute('href', address);
  leadOut(link);
  image.replaceWith(link);
}

/** Returns a place in a document that loads nothing. */
function inert(): HTMLElement {
  return document.implementation.createHTMLDocument('').createElement('div');
}

function written(fragment: DocumentFragment): string {
  const place = inert();
  place.append(fragment);
  return place.innerHTML;
}
