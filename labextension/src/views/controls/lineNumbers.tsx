/** How many lines a change adds and removes. */
import { useHost } from '../host';

/** Draws both numbers with their signs; a screen reader is told in words. */
export function LineNumbers(props: { additions: number; deletions: number }) {
  const { additions, deletions } = props;
  const { words } = useHost();
  const count = (number: number) => number.toLocaleString();
  return (
    <span className="plm-Numbers">
      <span className="plm-Hidden">
        {words.__(
          'lines: %1 added, %2 removed',
          count(additions),
          count(deletions)
        )}
      </span>
      <span aria-hidden="true" data-change="added">
        +{count(additions)}
      </span>{' '}
      <span aria-hidden="true" data-change="removed">
        −{count(deletions)}
      </span>
    </span>
  );
}
