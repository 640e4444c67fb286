/**
 * The sign of what was scraped off the page: a dashed strip that can be looked under.
 */
import { Fold } from './fold';
import { useHost } from './host';

/** Draws a compaction and, when opened, the summary that took the place of what it covers. */
export function Compaction({
  summary,
  overflow
}: {
  summary: string;
  overflow: boolean;
}) {
  const { Markdown, words } = useHost();
  const head = (
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
    </Fold>
  );
}
