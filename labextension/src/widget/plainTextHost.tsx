/** The Host for the inspector outside JupyterLab: every text is shown as it is, none is read as markup. */
import type { IHost } from '../views/host';
import { COPY, SvgIcon, WORDS } from './hostParts';

function PlainText({ text }: { text: string }) {
  return (
    <pre className="plm-PlainText" dir="auto">
      {text}
    </pre>
  );
}

export const PLAIN_TEXT_HOST: IHost = {
  ...COPY,
  Markdown: PlainText,
  Html: PlainText,
  Code: PlainText,
  Printed: PlainText,
  Icon: SvgIcon,
  words: WORDS
};
