/** The Host for views outside JupyterLab: everything is drawn by the browser. */
import { AnsiUp } from 'ansi_up';
import { useLayoutEffect, useRef, type ReactNode } from 'react';
import type { IHost } from '../views/host';
import { sanitize } from '../views/dom/sanitizer';
import { wrapInScrollBox } from '../views/dom/scrollBoxes';
import { CLIPBOARD, SvgIcon, WORDS } from './hostParts';
import { highlightedHtml, drawMarkdown } from './markdown';

export const BROWSER_HOST: IHost = {
  ...CLIPBOARD,
  Markdown: ({ text }) => <UnmanagedElements text={text} draw={drawMarkdown} />,
  Html: ({ text }) => <UnmanagedElements text={text} draw={sanitize} />,
  Code: ({ text, language }) => (
    <RenderedFrame>
      <pre>
        <UnmanagedElements
          as="code"
          text={text}
          draw={code => sanitize(highlightedHtml(code, language))}
        />
      </pre>
    </RenderedFrame>
  ),
  TerminalText: ({ text }) => (
    <RenderedFrame>
      <UnmanagedElements
        as="pre"
        text={text}
        draw={output => sanitize(terminalHtml(output))}
      />
    </RenderedFrame>
  ),
  Icon: SvgIcon,
  words: WORDS
};

function terminalHtml(text: string): string {
  const ansi = new AnsiUp();
  ansi.use_classes = true;
  ansi.url_allowlist = {};
  return ansi.ansi_to_html(text);
}

/** Draws its children with JupyterLab's classes, so that its styles apply where they are present. */
function RenderedFrame({ children }: { children: ReactNode }) {
  return (
    <div className="plm-Rendered">
      <div className="jp-RenderedHTMLCommon jp-RenderedMarkdown">
        {children}
      </div>
    </div>
  );
}

interface IUnmanagedElementsProps {
  text: string;
  draw: (text: string) => DocumentFragment;
  as?: 'code' | 'pre';
}

/** Draws the elements that `draw` makes of a text, which React does not manage. */
function UnmanagedElements({ text, draw, as: Tag }: IUnmanagedElementsProps) {
  const elementRef = useRef<HTMLElement>(null);
  const latestDraw = useRef(draw);
  useLayoutEffect(() => {
    const fragment = latestDraw.current(text);
    wrapInScrollBox(fragment);
    elementRef.current?.replaceChildren(fragment);
  }, [text]);
  return Tag === undefined ? (
    <div className="plm-Rendered" dir="auto">
      <div
        className="jp-RenderedHTMLCommon jp-RenderedMarkdown"
        ref={elementRef as React.RefObject<HTMLDivElement>}
      />
    </div>
  ) : (
    <Tag ref={elementRef as React.RefObject<HTMLPreElement>} />
  );
}
