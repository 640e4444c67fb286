/** How many lines a change adds and removes. */
import { useHost } from '../host';

/** Draws both numbers with their signs; a screen reader is told in words. */
export function LineCounts(props: { additions: number; deletions: number }) {
  const { additions, deletions } = props;
  const { words } = useHost();
  const formatCount = (number: number) => number.toLocaleString();
  return (
    <span className="plm-Numbers">
      <span className="plm-Hidden">
        {words.__(
          'lines: %1 added, %2 removed',
          formatCount(additions),
          formatCount(deletions)
        )}
      </span>
      <span aria-hidden="true" data-change="added">
        +{formatCount(additions)}
      </span>{' '}
      <span aria-hidden="true" data-change="removed">
        −{formatCount(deletions)}
      </span>
    </span>
  );
}
