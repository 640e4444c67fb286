/**
 * Draws Mermaid diagrams in untrusted text with JupyterLab, if they are plain; others stay code.
 *
 * JupyterLab draws a diagram in the page before it turns it into an image. Resources that a diagram
 * names would be loaded then, so only text without any is passed to it.
 */
import type { IRenderMime } from '@jupyterlab/rendermime';
import { useEffect, useState } from 'react';
import { unlessGone } from '../../views/dom/effects';

const DIAGRAM_KIND =
  /^\s*(?:flowchart|graph|sequenceDiagram|classDiagram|stateDiagram(?:-v2)?|erDiagram|gantt|pie|timeline|mindmap|journey|quadrantChart|gitGraph)\b/;

/** Words, arrows and brackets; no tag, entity, directive, property, macro or URL. */
const PLAIN_TEXT =
  /^(?:[\p{L}\p{M}\p{N}\s_\-=>|()[\]{}.,;:+*?'"/~^]|<(?=[-|=.o<]))*$/u;
const COMMANDS =
  /\/\/|::|^\s*---|url\s*\(|\b(?:click|href|links?|style|classDef|linkStyle|callback|import)\b|\b(?:https?|data|javascript)\s*:/im;
const MAX_DIAGRAM_CHARS = 8_000;

/** Returns whether a diagram consists only of shapes, lines and words. */
export function isPlainDiagram(text: string): boolean {
  return (
    text.length <= MAX_DIAGRAM_CHARS &&
    DIAGRAM_KIND.test(text) &&
    PLAIN_TEXT.test(text) &&
    !COMMANDS.test(text)
  );
}

/** Draws a plain diagram above its code, once JupyterLab has made an image of it. */
export function Diagram({
  text,
  parser
}: {
  text: string;
  parser: IRenderMime.IMarkdownParser;
}) {
  const [imageUrl, setImageUrl] = useState('');
  useEffect(
    () => unlessGone(renderDiagram(text, parser), setImageUrl),
    [text, parser]
  );
  // An SVG inside an image element loads nothing and runs nothing.
  return imageUrl === '' ? null : (
    <img className="plm-Diagram" src={imageUrl} alt={text} />
  );
}

const SVG_URL_START = 'data:image/svg+xml,';

async function renderDiagram(
  text: string,
  parser: IRenderMime.IMarkdownParser
): Promise<string> {
  try {
    const html = await parser.render(`\`\`\`mermaid\n${text}\n\`\`\``);
    const page = new DOMParser().parseFromString(html, 'text/html');
    const image = page.querySelector(
      `.jp-RenderedMermaid img[src^="${SVG_URL_START}"]`
    );
    return image?.getAttribute('src') ?? '';
  } catch {
    return '';
  }
}
