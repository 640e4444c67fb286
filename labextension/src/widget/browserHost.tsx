/**
 * The Host for views outside JupyterLab: everything is drawn by the browser.
 */
import { AnsiUp } from 'ansi_up';
import { useLayoutEffect, useRef, type ReactNode } from 'react';
import type { IconName, IHost } from '../views/host';
import { sanitize } from '../views/dom/sanitizer';
import { wrapInScrollBox } from '../views/dom/scrollBoxes';
import { colour, drawMarkdown } from './markdown';

/** SVG paths in a view box of 24 by 24. */
const PATHS: Record<IconName, string> = {
  done: 'M9 16.2 4.8 12l-1.4 1.4L9 19 21 7l-1.4-1.4z',
  failed:
    'M19 6.4 17.6 5 12 10.6 6.4 5 5 6.4l5.6 5.6L5 17.6 6.4 19l5.6-5.6 5.6 5.6 1.4-1.4-5.6-5.6z',
  stopped: 'M6 6h12v12H6z',
  fold: 'M10 17l5-5-5-5z',
  unfold: 'M7 10l5 5 5-5z'
};

/** Browsers offer the clipboard only to pages that were sent safely. */
const COPY: Pick<IHost, 'copy'> =
  'clipboard' in navigator
    ? { copy: text => navigator.clipboard.writeText(text) }
    : {};

export const HOST: IHost = {
  ...COPY,
  Markdown: ({ text }) => <Drawn text={text} draw={drawMarkdown} />,
  Code: ({ text, language }) => (
    <Rendered>
      <pre>
        <Drawn
          as="code"
          text={text}
          draw={code => sanitize(colour(code, language))}
        />
      </pre>
    </Rendered>
  ),
  Printed: ({ text }) => (
    <Rendered>
      <Drawn
        as="pre"
        text={text}
        draw={printed => sanitize(terminal(printed))}
      />
    </Rendered>
  ),
  Icon: ({ name }) => (
    <svg
      className="plm-View-icon"
      viewBox="0 0 24 24"
      width="14"
      height="14"
      aria-hidden="true"
    >
      <path d={PATHS[name]} fill="currentColor" />
    </svg>
  ),
  words: {
    __: (text, ...values) => filled(text, values),
    _n: (one, many, n, ...values) =>
      filled(n === 1 ? one : many, [n, ...values])
  }
};

function filled(text: string, values: (string | number)[]): string {
  return text.replace(/%(\d)/g, (sign, number: string) =>
    String(values[Number(number) - 1] ?? sign)
  );
}

function terminal(text: string): string {
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
  const place = useRef<HTMLElement>(null);
  const drawn = useRef(draw);
  useLayoutEffect(() => {
    const made = drawn.current(text);
    wrapInScrollBox(made);
    place.current?.replaceChildren(made);
  }, [text]);
  return Place === undefined ? (
    <div className="plm-Rendered" dir="auto">
      <div
        className="jp-RenderedHTMLCommon jp-RenderedMarkdown"
        ref={place as React.RefObject<HTMLDivElement>}
      />
    </div>
  ) : (
    <Place ref={place as React.RefObject<HTMLPreElement>} />
  );
}
