/**
 * JupyterLab's renderers for words of others: our sanitizer behind its own, no diagrams while the
 * words are parsed, and a second look at what stands in the page before maths is typeset, and after.
 */
import type { IRenderMime, IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { sanitizeInPlace } from '../../views/dom/inPlaceSanitizer';
import { sanitizeText, type ISanitizeOptions } from '../../views/dom/sanitizer';

/** Returns the renderers of a notebook for what a model or a tool wrote. */
export function sanitizingRenderers(
  registry: IRenderMimeRegistry
): IRenderMimeRegistry {
  const { latexTypesetter, markdownParser } = registry;
  const place = sanitizeOptions(registry);
  return registry.clone({
    sanitizer: chainedSanitizer(registry.sanitizer, place),
    ...(latexTypesetter === null
      ? {}
      : { latexTypesetter: carefulTypesetter(latexTypesetter, place) }),
    ...(markdownParser === null
      ? {}
      : { markdownParser: diagramFreeParser(markdownParser) })
  });
}

/** Says what a notebook's renderers can do: only beside a file do links lead to its neighbours. */
export function sanitizeOptions(
  registry: IRenderMimeRegistry
): ISanitizeOptions {
  return { local: registry.resolver !== null };
}

/** Wraps a sanitiser: what it leaves goes through ours. */
function chainedSanitizer(
  inner: IRenderMime.ISanitizer,
  place: ISanitizeOptions
): IRenderMime.ISanitizer {
  return {
    getAutolink: () => inner.getAutolink?.() ?? true,
    // A heading's words are no name of an element of the page.
    allowNamedProperties: false,
    allowCommandLinker: false,
    sanitize: (dirty, options) =>
      sanitizeText(inner.sanitize(dirty, options), place)
  };
}

/** Wraps what typesets maths: it gets, and leaves, nothing that may not stand in the page. */
function carefulTypesetter(
  inner: IRenderMime.ILatexTypesetter,
  place: ISanitizeOptions
): IRenderMime.ILatexTypesetter {
  return {
    typeset: drawn => {
      sanitizeInPlace(drawn, place);
      const typeset = inner.typeset(drawn);
      if (typeset instanceof Promise) {
        return typeset.then(() => {
          sanitizeInPlace(drawn, place);
        });
      }
      sanitizeInPlace(drawn, place);
    }
  };
}

/** Any run of marks that could open a fence, and the name of a diagram behind it. */
const DIAGRAM = /([`~]{3}[^\S\n]*)mermaid(?=[^\S\n]*(?:\n|$))/gi;

/**
 * Wraps a parser: diagrams stay code.
 *
 * JupyterLab draws a diagram in the page while it parses, before a sanitizer sees anything; what a
 * diagram names is loaded then, and its style holds in the whole page.
 */
function diagramFreeParser(
  inner: IRenderMime.IMarkdownParser
): IRenderMime.IMarkdownParser {
  return {
    render: source => inner.render(source.replace(DIAGRAM, '$1mermaid code'))
  };
}
