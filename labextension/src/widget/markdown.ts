/**
 * The Markdown of a model as elements of the page: parsed by marked, maths by Temml, code
 * coloured by highlight.js, and whatever came of it sanitised last.
 */
import DOMPurify from 'dompurify';
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
import { strict } from '../views/strict';

const LANGUAGES = { bash, diff, javascript, json, julia, python, r, sql };
for (const [name, language] of Object.entries(LANGUAGES)) {
  hljs.registerLanguage(name, language);
}

/** A listing longer than this keeps one colour; colouring it would hold up the page. */
const COLOURED_CHARS = 50_000;

/** Returns the Markdown as elements that can do nothing. */
export function drawMarkdown(text: string): DocumentFragment {
  // Sanitised last, and put into the page as it is: a text that is parsed again may change.
  return DOMPurify.sanitize(strict(MARKED.parse(text, { async: false })), {
    RETURN_DOM_FRAGMENT: true,
    USE_PROFILES: { html: true, mathMl: true },
    ADD_ATTR: ['target']
  });
}

/** Returns code with its colours, as HTML in which every character of the code is escaped. */
export function colour(code: string, language: string): string {
  return code.length > COLOURED_CHARS ||
    hljs.getLanguage(language) === undefined
    ? escape(code)
    : hljs.highlight(code, { language, ignoreIllegals: true }).value;
}

function maths(
  name: string,
  level: 'inline' | 'block',
  start: RegExp,
  whole: RegExp,
  displayMode: boolean
): TokenizerAndRendererExtension {
  return {
    name,
    level,
    start: text => {
      const found = text.search(start);
      return found === -1 ? undefined : found;
    },
    tokenizer: text => {
      const match = whole.exec(text);
      return match === null
        ? undefined
        : { type: name, raw: match[0], text: match[1] ?? '' };
    },
    renderer: ({ text }) => typeset(String(text), displayMode)
  };
}

function typeset(tex: string, displayMode: boolean): string {
  try {
    return temml.renderToString(tex, {
      displayMode,
      throwOnError: true,
      trust: false,
      maxSize: [20, 500],
      maxExpand: 500
    });
  } catch {
    // Words that are no maths stay as they were written.
    return `<code>${escape(tex)}</code>`;
  }
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`);
}

const MARKED = new Marked({
  gfm: true,
  renderer: {
    code: ({ text, lang }) =>
      `<pre><code>${colour(text, (lang ?? '').split(/\s/)[0] ?? '')}</code></pre>\n`
  },
  extensions: [
    maths('dollars', 'block', /\$\$/, /^ {0,3}\$\$([^]+?)\$\$(?=\s|$)/, true),
    maths('bracket', 'block', /\\\[/, /^ {0,3}\\\[([^]+?)\\\]/, true),
    maths('shown', 'inline', /\$\$/, /^\$\$([^$]+?)\$\$/, true),
    maths(
      'dollar',
      'inline',
      /\$/,
      /^\$(?=[^\s$])([^$`]*?[^\s\\$])\$(?!\d)/,
      false
    ),
    maths('parenthesis', 'inline', /\\\(/, /^\\\(([^]+?)\\\)/, false)
  ]
});
