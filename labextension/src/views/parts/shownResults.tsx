/** What the agent's Python displayed and no cell shows: tables, Markdown, and what works only in a cell, by name. */
import type { IShownResult } from '../../state/lines/toolCalls';
import { visibleText } from '../../state/text/visibleText';
import { useHost, type IWords } from '../host';

/** Draws the results; HTML is sanitised by the host. */
export function ShownResults(props: { results: readonly IShownResult[] }) {
  const { results } = props;
  const { Html, Markdown, words } = useHost();
  return (
    <>
      {results.map(({ kind, text }, index) => (
        <div key={index} className="plm-ShownResult" data-kind={kind}>
          {kind === 'html' ? (
            <Html text={text} />
          ) : kind === 'markdown' ? (
            <Markdown text={text} />
          ) : (
            <p className="plm-Muted">{unshownText(kind, text, words)}</p>
          )}
        </div>
      ))}
    </>
  );
}

function unshownText(kind: string, text: string, words: IWords): string {
  const name = visibleText(text);
  if (kind !== 'widget') {
    return words.__(
      'A result of type %1: it is shown only in a cell. Ask in a cell to see it.',
      name
    );
  }
  return name === ''
    ? words.__('A widget: it works only in a cell. Ask in a cell to use it.')
    : words.__(
        'A widget, %1: it works only in a cell. Ask in a cell to use it.',
        name
      );
}
