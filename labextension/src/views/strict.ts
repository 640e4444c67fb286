/**
 * What a sanitiser leaves and a model's words may still not do.
 *
 * A sanitiser takes out scripts and handlers, which is right for a person's notebook. A model's
 * text must also not load pictures from elsewhere (it would tell an address what was read here),
 * not run a command of JupyterLab by a button, and not dress up as our question.
 */

/** Elements that load, send or command something; their words stay. */
const UNWANTED =
  'audio, button, datalist, embed, fieldset, form, iframe, input, map, object, option, picture, select, source, textarea, track, video';

/** Classes that JupyterLab, Lumino and we ourselves give a meaning to. */
const OURS = /^(jp-|lm-|plm-)/;

const LINK = /^(https?:|mailto:|#)/i;
const SCHEME = /^([a-z][a-z0-9+.-]*:|[\\/]{2})/i;
const PICTURE = /^data:image\/(png|jpeg|gif|webp|svg\+xml)[;,]/i;

/** Takes out what a model's words may not do; the document it works in loads nothing. */
export function strict(html: string): string {
  const page = new DOMParser().parseFromString(html, 'text/html');
  for (const element of page.body.querySelectorAll(UNWANTED)) {
    if (!isTask(element)) {
      element.replaceWith(...element.childNodes);
    }
  }
  page.body.querySelectorAll('img').forEach(keepPicture);
  for (const element of page.body.querySelectorAll('*')) {
    keepAttributes(element);
  }
  return page.body.innerHTML;
}

/** The box of a task list can do nothing: it is switched off. */
function isTask(element: Element): boolean {
  return (
    element.matches('li input[type="checkbox"]') &&
    element.hasAttribute('disabled')
  );
}

function keepPicture(image: HTMLImageElement): void {
  const address = (image.getAttribute('src') ?? '').trim();
  if (PICTURE.test(address) || !SCHEME.test(address)) {
    return;
  }
  // Not loaded, but named: a person may follow the link.
  const link = image.ownerDocument.createElement('a');
  link.textContent = image.alt === '' ? address : image.alt;
  link.setAttribute('href', address);
  image.replaceWith(link);
}

function keepAttributes(element: Element): void {
  for (const name of element.getAttributeNames()) {
    if (/^(style|background|data-commandlinker.*|usemap|name)$/i.test(name)) {
      element.removeAttribute(name);
    }
  }
  const kept = [...element.classList].filter(name => !OURS.test(name));
  if (kept.length < element.classList.length) {
    element.className = kept.join(' ');
  }
  const address = element.getAttribute('href')?.trim();
  if (address !== undefined) {
    if (SCHEME.test(address) && !LINK.test(address)) {
      element.removeAttribute('href');
    } else if (/^https?:/i.test(address)) {
      element.setAttribute('target', '_blank');
      element.setAttribute('rel', 'noopener noreferrer nofollow');
    }
  }
}
