/** A compaction in the transcript: a dashed strip that opens to the summary. */
import type { CompactionPart, Decision } from '../../protocol/generated';
import type { CompactionState } from '../../state/lines/lines';
import { keptCounts } from '../../state/lines/summaryGrade';
import { count, shortCount } from '../../state/text/numberFormat';
import { isSummaryUndone } from '../../state/session/contextEdits';
import { SmallButton } from '../controls/buttons';
import { Disclosure } from '../controls/disclosure';
import { useCoveredTurns } from '../actions/contextEdits';
import { useHost, type IWords } from '../host';
import { ReductionNote } from './reductionNote';
import { ContextEditButtons } from './editButtons';
import { InspectButton } from './inspectButton';
import { gradeText, SummaryGrade } from './summaryGrade';

/** Draws a compaction and, when opened, the summary that replaces what it covers. */
export function Compaction(props: {
  summary: string;
  state: CompactionState;
  /** The compaction's marker. */
  marker: CompactionPart;
  /** The id of the summary's message. */
  summaryId: string;
  decisions: readonly Decision[];
}) {
  const { summary, state, marker, summaryId, decisions } = props;
  const { Markdown, words } = useHost();
  const isCompactionUndone = isSummaryUndone(decisions, summaryId);
  const [title, detail] = isCompactionUndone
    ? [
        words.__('Undone'),
        words.__('the model sees again what this summary stood for')
      ]
    : compactionTexts(state, marker, words);
  const summaryDecision = decisions.findLast(
    decision =>
      decision.action === 'summarise' &&
      decision.message_id === summaryId &&
      (decision.words ?? '') !== ''
  );
  const coveredTurns = useCoveredTurns();
  const keptAndGrade =
    summaryDecision === undefined || isCompactionUndone
      ? []
      : [
          keptText(summaryDecision, words),
          gradeText(summaryDecision, words)
        ].filter(text => text !== '');
  const head = (
    <span className="plm-Reduced-text">
      <strong>{title}</strong>{' '}
      {summaryDecision !== undefined &&
        !isCompactionUndone &&
        sizeText(summaryDecision, words)}
      {detail}
      {keptAndGrade.length > 0 && (
        <span className="plm-Compaction-kept"> {keptAndGrade.join('; ')}</span>
      )}
    </span>
  );
  if (summary.trim() === '') {
    return <div className="plm-Reduced">{head}</div>;
  }
  return (
    <div className="plm-Reduced plm-Compaction">
      <Disclosure
        className="plm-Compaction-summary"
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
        {summaryDecision !== undefined && (
          <>
            <ReductionNote decision={summaryDecision} />
            <SummaryGrade decision={summaryDecision} />
          </>
        )}
      </Disclosure>
      {state === 'done' && (
        <p className="plm-ContextEdit">
          {coveredTurns !== null && (
            <SmallButton
              title={words.__(
                'Show the newest turn that the summary stands for'
              )}
              onClick={() => {
                coveredTurns.lookUnderneath(marker);
              }}
            >
              {words.__('Look underneath')}
            </SmallButton>
          )}
          {!isCompactionUndone && (
            <ContextEditButtons
              targetId={summaryId}
              offeredEdits={[
                [
                  'restore',
                  words.__('Undo the compaction'),
                  words.__('Show the model the whole history again')
                ]
              ]}
            />
          )}
          <InspectButton target={{ item: summaryId }} />
        </p>
      )}
    </div>
  );
}

/** Returns the state of a compaction in a word or two, and a sentence with its reason. */
export function compactionTexts(
  state: CompactionState,
  marker: CompactionPart,
  words: IWords
): readonly [title: string, detail: string] {
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
          compactionReason(marker, words)
        )
      ];
  }
}

/** Returns the tokens of the conversation before and after; empty where the log holds none. */
function sizeText(
  { tokens_before, tokens_after }: Decision,
  words: IWords
): string {
  return tokens_before > 0 && tokens_after > 0
    ? `${words.__('%1 → %2 tokens', count(tokens_before), count(tokens_after))} · `
    : '';
}

/** Returns what stays as it is beside the summary; empty where the log does not tell. */
function keptText(decision: Decision, words: IWords): string {
  const { turns, tokens, pinned } = keptCounts(decision);
  const phrases = [
    tokens === 0
      ? ''
      : turns === 0
        ? words.__('the end of the newest turn (%1)', shortCount(tokens))
        : turns === 1
          ? words.__('the newest turn (%1)', shortCount(tokens))
          : words.__('the newest %1 turns (%2)', turns, shortCount(tokens)),
    pinned === 0 ? '' : words._n('%1 pinned part', '%1 pinned parts', pinned)
  ].filter(text => text !== '');
  return phrases.length === 0
    ? ''
    : words.__('word for word: %1', phrases.join(', '));
}

function compactionReason(
  { auto, overflow }: CompactionPart,
  words: IWords
): string {
  if (overflow) {
    return words.__('the context no longer fitted');
  }
  return auto ? words.__('the context was nearly full') : words.__('as asked');
}
