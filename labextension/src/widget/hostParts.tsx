/** What hosts outside JupyterLab share: icons, words and the clipboard; and the host that shows every text as it is. */
import type { IconName, IHost, IWords } from '../views/host';

/** SVG paths in a view box of 24 by 24. */
const PATHS: Record<IconName, string> = {
  done: 'M9 16.2 4.8 12l-1.4 1.4L9 19 21 7l-1.4-1.4z',
  failed:
    'M19 6.4 17.6 5 12 10.6 6.4 5 5 6.4l5.6 5.6L5 17.6 6.4 19l5.6-5.6 5.6 5.6 1.4-1.4-5.6-5.6z',
  stopped: 'M6 6h12v12H6z',
  fold: 'M10 17l5-5-5-5z',
  unfold: 'M7 10l5 5 5-5z'
};

/** The part of a host that copies; browsers offer the clipboard only to pages that were sent safely. */
export const CLIPBOARD: Pick<IHost, 'copy'> =
  'clipboard' in navigator
    ? { copy: text => navigator.clipboard.writeText(text) }
    : {};

export function SvgIcon({ name }: { name: IconName }) {
  return (
    <svg
      className="plm-View-icon"
      viewBox="0 0 24 24"
      width="14"
      height="14"
      aria-hidden="true"
    >
      <path d={PATHS[name]} fill="currentColor" />
    </svg>
  );
}

export const WORDS: IWords = {
  __: (text, ...values) => fillValues(text, values),
  _n: (singular, plural, n, ...values) =>
    fillValues(n === 1 ? singular : plural, [n, ...values])
};

function fillValues(text: string, values: (string | number)[]): string {
  return text.replace(/%(\d)/g, (placeholder, number: string) =>
    String(values[Number(number) - 1] ?? placeholder)
  );
}

function PlainText({ text }: { text: string }) {
  return (
    <pre className="plm-PlainText" dir="auto">
      {text}
    </pre>
  );
}

/** The Host for the inspector outside JupyterLab: every text is shown as it is, none is read as markup. */
export const PLAIN_TEXT_HOST: IHost = {
  ...CLIPBOARD,
  Markdown: PlainText,
  Html: PlainText,
  Code: PlainText,
  TerminalText: PlainText,
  Icon: SvgIcon,
  words: WORDS
};
