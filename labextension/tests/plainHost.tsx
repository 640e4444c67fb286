/** A host that draws everything as plain text. */
import type { IHost } from '../src/views/host';

const fill = (words: string, values: (string | number)[]) =>
  words.replace(/%(\d)/g, (_, n: string) => String(values[Number(n) - 1]));

export const HOST: IHost = {
  Markdown: ({ text }) => <p>{text}</p>,
  Html: ({ text }) => <p>{text}</p>,
  Code: ({ text }) => <pre>{text}</pre>,
  TerminalText: ({ text }) => <pre>{text}</pre>,
  Icon: ({ name }) => <i data-name={name} />,
  words: {
    __: (words, ...values) => fill(words, values),
    _n: (singular, plural, n, ...values) =>
      fill(n === 1 ? singular : plural, [n, ...values])
  }
};
