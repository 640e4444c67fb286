/** One turn: the user's prompt and the agent's messages. */
import { memo, useMemo } from 'react';
import type {
  Ask,
  Decision,
  Message,
  ProposedRequest,
  QuestionAsked,
  Status
} from '../../protocol/generated';
import { SEGMENT_VERSION, type ISegment } from '../../protocol/segment';
import { changesOf, type RevertedExtent } from '../../state/session/reverts';
import type { ITranscript } from '../../state/store/transcript';
import { proposedFix } from '../../state/lines/proposedFix';
import type { ITurn } from '../../state/display/turns';
import { ProposedFixProvider } from '../parts/codeActions';
import { SegmentView } from '../segment/segmentView';
import { PromptText } from '../controls/promptText';
import { ContextEditState } from '../modelContext/editButtons';
import { ForkButton } from './forkButton';
import { PromptHead } from './promptHead';
import { MissingAnswerButton } from './missingAnswerButton';
import { ResendButtons } from './resendButtons';
import { RevertButton } from './revertControls';

interface ITurnProps {
  turn: ITurn;
  live: boolean;
  /** The session's status; drawn below a running turn. */
  status: Status;
  canRetry: boolean;
  asks: readonly Ask[];
  questions: readonly QuestionAsked[];
  /** Requests that step mode holds. */
  held: readonly ProposedRequest[];
  decisions: readonly Decision[];
  /** The density that applies unless the reader chose another. */
  density: ITranscript['density'];
  replies: ITranscript['replies'];
  session: string;
  /** Whether the session is a subagent's: its prompts come from the calling agent. */
  isTask: boolean;
  reverted: RevertedExtent;
}

/** Draws one turn. */
export const Turn = memo(
  function Turn(props: ITurnProps) {
    const {
      turn,
      live,
      status,
      canRetry,
      asks,
      questions,
      held,
      decisions,
      density,
      replies,
      session,
      isTask,
      reverted
    } = props;
    const segment = useMemo(
      (): ISegment => ({
        version: SEGMENT_VERSION,
        session,
        turn: turn.key,
        seq: [0, 0],
        open: live,
        messages: turn.messages,
        asks: [...asks],
        questions: [...questions],
        replies,
        decisions: [...decisions],
        first_step: 1,
        density,
        status: '',
        changes: changesOf(turn.entries[0]?.message.info)
      }),
      [turn, live, asks, questions, decisions, density, replies, session]
    );
    const fix = useMemo(
      () => proposedFix(turn.attached, turn.messages),
      [turn]
    );
    return (
      <>
        {turn.prompt !== null && (
          <div className="plm-TurnPrompt">
            <PromptHead
              origin={turn.origin}
              isTask={isTask}
              attached={turn.attached}
              reverted={reverted === 'whole'}
            >
              <PromptText text={turn.prompt} line={turn.key} />
            </PromptHead>
            {reverted !== 'whole' && !live && (
              <MissingAnswerButton target={turn.key} />
            )}
            <ContextEditState
              target={turn.key}
              decisions={decisions.filter(
                ({ message_id }) => message_id === turn.key
              )}
            />
          </div>
        )}
        {(turn.messages.length > 0 || live || turn.prompt !== null) && (
          <ProposedFixProvider value={reverted === undefined ? fix : null}>
            <SegmentView
              segment={segment}
              live={live}
              status={status}
              held={held}
              canRetry={canRetry}
              showsFigures={turn.origin?.kind !== 'cell'}
              cell={turn.origin?.cell_id}
              showsGauge={false}
              buttons={
                turn.prompt !== null &&
                reverted !== 'whole' && (
                  <>
                    <ResendButtons
                      turn={turn.key}
                      prompt={turn.entries[0]?.message as Message | undefined}
                    />
                    <ForkButton session={session} target={turn.key} />
                    <RevertButton target={turn.key} />
                  </>
                )
              }
            />
          </ProposedFixProvider>
        )}
      </>
    );
  },
  // A question or a decision affects the running turn, or came with a change of the turn.
  (before, now) =>
    before.turn === now.turn &&
    before.live === now.live &&
    before.canRetry === now.canRetry &&
    before.session === now.session &&
    before.isTask === now.isTask &&
    before.reverted === now.reverted &&
    (!now.live || before.status === now.status) &&
    (!now.live || before.asks === now.asks) &&
    (!now.live || before.questions === now.questions) &&
    before.held === now.held &&
    before.decisions === now.decisions &&
    before.density === now.density &&
    (!now.live || before.replies === now.replies)
);
