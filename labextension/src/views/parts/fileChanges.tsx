/** A turn's changes to files: a line with totals, and each file's diff below it. */
import type { FileDiff } from '../../protocol/generated';
import { Diff } from '../controls/diff';
import { Disclosure } from '../controls/disclosure';
import { LineNumbers } from '../controls/lineNumbers';
import { useHost, type IWords } from '../host';

/** Draws the line; it opens to a list of files, and each file to its diff. */
export function FileChanges({ changes }: { changes: readonly FileDiff[] }) {
  const { words } = useHost();
  return (
    <Disclosure
      className="plm-FileChanges"
      head={
        <span>
          {words._n('%1 file changed', '%1 files changed', changes.length)}{' '}
          <LineNumbers {...lineTotals(changes)} />
        </span>
      }
    >
      <ul className="plm-FileChanges-files">
        {changes.map(change => (
          <li key={change.file}>
            <FileChange change={change} />
          </li>
        ))}
      </ul>
    </Disclosure>
  );
}

/** Draws one file: its name and numbers, and its diff on demand. */
export function FileChange(props: {
  change: FileDiff;
  /** A remark on the change of the file. */
  remark?: string;
}) {
  const { change, remark } = props;
  const { words } = useHost();
  const statusNote = remark ?? statusText(change, words);
  const head = (
    <>
      <code className="plm-FileChanges-file">{change.file}</code>
      {statusNote !== '' && <span className="plm-Muted">{statusNote}</span>}
      {change.additions + change.deletions > 0 && <LineNumbers {...change} />}
    </>
  );
  return change.patch === undefined || change.patch === '' ? (
    <p className="plm-FileChanges-plain">
      {head}
      {change.note !== undefined && (
        <span className="plm-Muted">{change.note}</span>
      )}
    </p>
  ) : (
    <Disclosure className="plm-FileChanges-fold" head={head}>
      <Diff text={change.patch} />
      {change.note !== undefined && <p className="plm-Muted">{change.note}</p>}
    </Disclosure>
  );
}

function lineTotals(changes: readonly FileDiff[]) {
  return {
    additions: changes.reduce((sum, change) => sum + change.additions, 0),
    deletions: changes.reduce((sum, change) => sum + change.deletions, 0)
  };
}

function statusText({ status }: FileDiff, words: IWords): string {
  switch (status) {
    case 'added':
      return words.__('new');
    case 'deleted':
      return words.__('deleted');
    case 'modified':
      return '';
  }
}
