/** The Host for views outside JupyterLab: everything is drawn by the browser. */
import { AnsiUp } from 'ansi_up';
import { useLayoutEffect, useRef, type ReactNode } from 'react';
import type { IHost } from '../views/host';
import { sanitize } from '../views/dom/sanitizer';
import { wrapInScrollBox } from '../views/dom/scrollBoxes';
import { COPY, SvgIcon, WORDS } from './hostParts';
import { highlightedCode, drawMarkdown } from './markdown';

export const HOST: IHost = {
  ...COPY,
  Markdown: ({ text }) => <Drawn text={text} draw={drawMarkdown} />,
  Html: ({ text }) => <Drawn text={text} draw={sanitize} />,
  Code: ({ text, language }) => (
    <Rendered>
      <pre>
        <Drawn
          as="code"
          text={text}
          draw={code => sanitize(highlightedCode(code, language))}
        />
      </pre>
    </Rendered>
  ),
  Printed: ({ text }) => (
    <Rendered>
      <Drawn
        as="pre"
        text={text}
        draw={printed => sanitize(terminalHtml(printed))}
      />
    </Rendered>
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

/** JupyterLab's own classes, so that its styles apply where they are present. */
function Rendered({ children }: { children: ReactNode }) {
  return (
    <div className="plm-Rendered">
      <div className="jp-RenderedHTMLCommon jp-RenderedMarkdown">
        {children}
      </div>
    </div>
  );
}

interface IDrawnProps {
  text: string;
  draw: (text: string) => DocumentFragment;
  as?: 'code' | 'pre';
}

/** Adds elements to the page that React does not manage. */
function Drawn({ text, draw, as: Place }: IDrawnProps) {
  const elementRef = useRef<HTMLElement>(null);
  const latestDraw = useRef(draw);
  useLayoutEffect(() => {
    const fragment = latestDraw.current(text);
    wrapInScrollBox(fragment);
    elementRef.current?.replaceChildren(fragment);
  }, [text]);
  return Place === undefined ? (
    <div className="plm-Rendered" dir="auto">
      <div
        className="jp-RenderedHTMLCommon jp-RenderedMarkdown"
        ref={elementRef as React.RefObject<HTMLDivElement>}
      />
    </div>
  ) : (
    <Place ref={elementRef as React.RefObject<HTMLPreElement>} />
  );
}
