/**
 * The sign of what was scraped off the page: a dashed strip that can be looked under.
 */
import type { Decision } from '../protocol/generated';
import { isUndone } from '../state/wishes';
import { Fold } from './fold';
import { useHost } from './host';
import { Buttons } from './wish';

/** Draws a compaction and, when opened, the summary that took the place of what it covers. */
export function Compaction({
  summary,
  overflow,
  written,
  decisions
}: {
  summary: string;
  overflow: boolean;
  /** The id of the summary's message. */
  written: string;
  decisions: readonly Decision[];
}) {
  const { Markdown, words } = useHost();
  const undone = isUndone(decisions, written);
  const head = undone ? (
    <span className="plm-Strip-text">
      <strong>{words.__('Undone')}</strong>{' '}
      {words.__('the model sees again what this summary stood for')}
    </span>
  ) : (
    <span className="plm-Strip-text">
      <strong>{words.__('Compacted')}</strong>{' '}
      {overflow
        ? words.__('because the context no longer fitted')
        : words.__('older turns are told in a summary')}
    </span>
  );
  if (summary.trim() === '') {
    return <div className="plm-Strip">{head}</div>;
  }
  return (
    <Fold
      className="plm-Strip"
      head={
        <>
          {head}
          <span className="plm-Strip-action">
            {words.__('look underneath')}
          </span>
        </>
      }
    >
      <Markdown text={summary} />
      {!undone && (
        <p className="plm-Wish">
          <Buttons
            target={written}
            offered={[
              [
                'restore',
                words.__('Undo the compaction'),
                words.__('Show the model the whole history again')
              ]
            ]}
          />
        </p>
      )}
    </Fold>
  );
}
