/**
 * JupyterLab's renderers, made safe for untrusted text.
 *
 * They run our sanitizer after JupyterLab's own, draw no diagrams while parsing, and sanitize the
 * page's elements again before and after maths is typeset.
 */
import type { IRenderMime, IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { sanitizeInPlace } from '../../views/dom/inPlaceSanitizer';
import { typesetAdded } from './keptFormulas';
import { sanitizeText, type ISanitizeOptions } from '../../views/dom/sanitizer';

/** Returns a notebook's renderers for text of a model or a tool. */
export function sanitizingRenderers(
  registry: IRenderMimeRegistry
): IRenderMimeRegistry {
  const { latexTypesetter, markdownParser, sanitizer } = registry;
  const ourOptions = sanitizeOptions(registry);
  return registry.clone({
    sanitizer: {
      getAutolink: () => sanitizer.getAutolink?.() ?? true,
      // A heading's id must not name an element of the page.
      allowNamedProperties: false,
      allowCommandLinker: false,
      sanitize: (dirty, options) =>
        sanitizeText(sanitizer.sanitize(dirty, options), ourOptions)
    },
    ...(latexTypesetter === null
      ? {}
      : { latexTypesetter: carefulTypesetter(latexTypesetter, ourOptions) }),
    ...(markdownParser === null
      ? {}
      : { markdownParser: diagramFreeParser(markdownParser) })
  });
}

/** Returns sanitizer options for a notebook: links to files are allowed only beside a file. */
export function sanitizeOptions(
  registry: IRenderMimeRegistry
): ISanitizeOptions {
  return { allowsLocalLinks: registry.resolver !== null };
}

/** Wraps a maths typesetter: it typesets what is new, and elements are sanitized in the page before and after it. */
function carefulTypesetter(
  inner: IRenderMime.ILatexTypesetter,
  ourOptions: ISanitizeOptions
): IRenderMime.ILatexTypesetter {
  return {
    typeset: element => {
      sanitizeInPlace(element, ourOptions);
      return typesetAdded(
        element,
        element => inner.typeset(element),
        added => {
          sanitizeInPlace(added, ourOptions);
        }
      );
    }
  };
}

/** A possible opening of a code fence, followed by the language of a diagram. */
const DIAGRAM_FENCE = /([`~]{3}[^\S\n]*)mermaid(?=[^\S\n]*(?:\n|$))/gi;

/**
 * Wraps a Markdown parser: diagrams stay code.
 *
 * JupyterLab draws a diagram in the page while it parses, before any sanitizer runs; resources that
 * the diagram names would be loaded then, and its styles would apply to the whole page.
 */
function diagramFreeParser(
  inner: IRenderMime.IMarkdownParser
): IRenderMime.IMarkdownParser {
  return {
    render: source =>
      inner.render(source.replace(DIAGRAM_FENCE, '$1mermaid code'))
  };
}
