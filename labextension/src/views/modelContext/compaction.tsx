/**
 * A compaction in the transcript: a dashed strip that opens to the summary.
 */
import type { CompactionPart, Decision } from '../../protocol/generated';
import type { CompactionState } from '../../state/display/lines';
import { isUndone } from '../../state/session/contextEdits';
import { Disclosure } from '../controls/disclosure';
import { useHost, type IWords } from '../host';
import { ReductionNote } from './reductionNote';
import { ContextEditButtons } from './editButtons';
import { InspectButton } from './inspectButton';
import { gradeText, SummaryGrade } from './summaryGrade';

/** Draws a compaction and, when opened, the summary that replaces what it covers. */
export function Compaction({
  summary,
  state,
  mark,
  written,
  decisions
}: {
  summary: string;
  state: CompactionState;
  /** The compaction's marker. */
  mark: CompactionPart;
  /** The id of the summary's message. */
  written: string;
  decisions: readonly Decision[];
}) {
  const { Markdown, words } = useHost();
  const undone = isUndone(decisions, written);
  const [what, more] = undone
    ? [
        words.__('Undone'),
        words.__('the model sees again what this summary stood for')
      ]
    : compactionText(state, mark, words);
  const lost = decisions.findLast(
    decision =>
      decision.action === 'summarise' &&
      decision.message_id === written &&
      (decision.words ?? '') !== ''
  );
  const grade = lost === undefined || undone ? '' : gradeText(lost, words);
  const head = (
    <span className="plm-Reduced-text">
      <strong>{what}</strong> {more}
      {grade !== '' && `; ${grade}`}
    </span>
  );
  if (summary.trim() === '') {
    return <div className="plm-Reduced">{head}</div>;
  }
  return (
    <Disclosure
      className="plm-Reduced"
      head={
        <>
          {head}
          <span className="plm-Reduced-action">
            {words.__('show the summary')}
          </span>
        </>
      }
    >
      <Markdown text={summary} />
      {lost !== undefined && <ReductionNote decision={lost} />}
      {lost !== undefined && <SummaryGrade decision={lost} />}
      {state === 'done' && (
        <p className="plm-ContextEdit">
          {!undone && (
            <ContextEditButtons
              target={written}
              offered={[
                [
                  'restore',
                  words.__('Undo the compaction'),
                  words.__('Show the model the whole history again')
                ]
              ]}
            />
          )}
          <InspectButton target={{ item: written }} />
        </p>
      )}
    </Disclosure>
  );
}

/** Returns the text about a compaction and its reason. */
export function compactionText(
  state: CompactionState,
  mark: CompactionPart,
  words: IWords
): readonly [what: string, more: string] {
  switch (state) {
    case 'running':
      return [
        words.__('Compacting'),
        words.__('a summary of older turns is asked for')
      ];
    case 'failed':
      return [
        words.__('Not compacted'),
        words.__('the model still sees everything that came before')
      ];
    case 'done':
      return [
        words.__('Compacted'),
        words.__(
          'A summary of earlier messages, %1; all are kept',
          why(mark, words)
        )
      ];
  }
}

function why({ auto, overflow }: CompactionPart, words: IWords): string {
  if (overflow) {
    return words.__('the context no longer fitted');
  }
  return auto ? words.__('the context was nearly full') : words.__('as asked');
}
