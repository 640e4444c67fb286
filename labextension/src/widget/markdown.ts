/**
 * Renders Markdown to elements: parsed by marked, code coloured by highlight.js, then sanitized.
 *
 * Maths is added after that, made by Temml from its source text.
 */
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import diff from 'highlight.js/lib/languages/diff';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import julia from 'highlight.js/lib/languages/julia';
import python from 'highlight.js/lib/languages/python';
import r from 'highlight.js/lib/languages/r';
import sql from 'highlight.js/lib/languages/sql';
import { Marked, type TokenizerAndRendererExtension } from 'marked';
import temml from 'temml';
import { sanitizeInPlace } from '../views/dom/inPlaceSanitizer';
import { FORMULA_ATTRIBUTE, sanitize } from '../views/dom/sanitizer';

const LANGUAGES = { bash, diff, javascript, json, julia, python, r, sql };
for (const [name, language] of Object.entries(LANGUAGES)) {
  hljs.registerLanguage(name, language);
}

/** A longer listing is not coloured, since that would block the page. */
const MAX_COLOURED_CHARS = 50_000;

/** The placeholder of a formula: an unguessable prefix, followed by the formula's number. */
const FORMULA_PREFIX = [...crypto.getRandomValues(new Uint32Array(4))].join(
  '-'
);

interface IFormula {
  tex: string;
  displayMode: boolean;
}

/** The formulas of the text that is being parsed. */
let formulas: IFormula[] = [];

/** Returns the Markdown as harmless elements. */
export function drawMarkdown(text: string): DocumentFragment {
  formulas = [];
  const html = MARKDOWN_PARSER.parse(text, { async: false });
  const fragment = sanitize(html, { markPrefix: FORMULA_PREFIX });
  for (const container of fragment.querySelectorAll(`[${FORMULA_ATTRIBUTE}]`)) {
    const formulaNumber = container
      .getAttribute(FORMULA_ATTRIBUTE)
      ?.slice(FORMULA_PREFIX.length + 1);
    const formula = formulas[Number(formulaNumber)];
    container.removeAttribute(FORMULA_ATTRIBUTE);
    if (formula !== undefined) {
      drawFormula(container, formula);
    }
  }
  return fragment;
}

/** Returns code with colours, as HTML in which every character of the code is escaped. */
export function highlightedHtml(code: string, language: string): string {
  return code.length > MAX_COLOURED_CHARS ||
    hljs.getLanguage(language) === undefined
    ? escapeHtml(code)
    : hljs.highlight(code, { language, ignoreIllegals: true }).value;
}

function mathsExtension(
  name: string,
  level: 'inline' | 'block',
  start: RegExp,
  pattern: RegExp,
  displayMode: boolean
): TokenizerAndRendererExtension {
  return {
    name,
    level,
    start: text => {
      const index = text.search(start);
      return index === -1 ? undefined : index;
    },
    tokenizer: text => {
      const match = pattern.exec(text);
      return match === null
        ? undefined
        : { type: name, raw: match[0], text: match[1] ?? '' };
    },
    renderer: ({ text }) => {
      const tex = String(text);
      const formulaNumber = formulas.push({ tex, displayMode }) - 1;
      return `<code ${FORMULA_ATTRIBUTE}="${FORMULA_PREFIX}-${formulaNumber}">${escapeHtml(tex)}</code>`;
    }
  };
}

/** Replaces a placeholder by its formula; invalid maths stays as it was written. */
function drawFormula(container: Element, { tex, displayMode }: IFormula): void {
  const template = document.createElement('template');
  try {
    template.innerHTML = temml.renderToString(tex, {
      displayMode,
      throwOnError: true,
      trust: false,
      maxSize: [20, 500],
      maxExpand: 500
    });
  } catch {
    return;
  }
  sanitizeInPlace(template.content);
  container.replaceWith(template.content);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`);
}

const MARKDOWN_PARSER = new Marked({
  gfm: true,
  renderer: {
    code: ({ text, lang }) =>
      `<pre><code>${highlightedHtml(text, (lang ?? '').split(/\s/)[0] ?? '')}</code></pre>\n`
  },
  extensions: [
    mathsExtension(
      'dollars',
      'block',
      /\$\$/,
      /^ {0,3}\$\$([^]+?)\$\$(?=\s|$)/,
      true
    ),
    mathsExtension('bracket', 'block', /\\\[/, /^ {0,3}\\\[([^]+?)\\\]/, true),
    mathsExtension('shown', 'inline', /\$\$/, /^\$\$([^$]+?)\$\$/, true),
    mathsExtension(
      'dollar',
      'inline',
      /\$/,
      /^\$(?=[^\s$])([^$`]*?[^\s\\$])\$(?!\d)/,
      false
    ),
    mathsExtension('parenthesis', 'inline', /\\\(/, /^\\\(([^]+?)\\\)/, false)
  ]
});
