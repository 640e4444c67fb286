/** One turn: the user's prompt and the agent's messages. */
import { memo, useMemo } from 'react';
import type { Message, ProposedRequest } from '../../protocol/generated';
import { SEGMENT_VERSION, type ISegment } from '../../protocol/segment';
import {
  turnFileChanges,
  type RevertedExtent
} from '../../state/session/reverts';
import type { ITranscript } from '../../state/store/transcript';
import { proposedFix } from '../../state/lines/proposedFix';
import type { ITurn } from '../../state/display/turns';
import { ProposedFixProvider } from '../parts/codeActions';
import { SegmentView } from '../segment/segmentView';
import { LinkButton } from '../controls/buttons';
import { PromptText } from '../controls/promptText';
import { useSessionActionsIfOffered } from '../actions/sessions';
import { useHost } from '../host';
import { ContextEditState } from '../modelContext/editButtons';
import { PromptHead } from './promptHead';
import { MissingAnswerButton } from './missingAnswerButton';
import { ResendButtons } from './resendButtons';
import { RevertButton } from './revertControls';

interface ITurnProps {
  turn: ITurn;
  isLive: boolean;
  canRetry: boolean;
  revertExtent: RevertedExtent;
  /** The session's data beside its messages. */
  transcript: ITranscript;
}

const NO_HELD_REQUESTS: readonly ProposedRequest[] = [];

/** Draws one turn. */
export const Turn = memo(
  function Turn({
    turn,
    isLive,
    canRetry,
    revertExtent,
    transcript
  }: ITurnProps) {
    const { asks, questions, decisions, density, replies } = transcript;
    const session = transcript.session?.id ?? '';
    const segment = useMemo(
      (): ISegment => ({
        version: SEGMENT_VERSION,
        session,
        turn: turn.key,
        seq: [0, 0],
        open: isLive,
        messages: turn.messages,
        asks: [...asks],
        questions: [...questions],
        replies,
        decisions: [...decisions],
        first_step: 1,
        density,
        status: '',
        changes: turnFileChanges(turn.entries[0]?.message.info)
      }),
      [turn, isLive, asks, questions, decisions, density, replies, session]
    );
    const fix = useMemo(
      () => proposedFix(turn.attachments, turn.messages),
      [turn]
    );
    return (
      <>
        {turn.prompt !== null && (
          <div className="plm-TurnPrompt">
            <PromptHead
              origin={turn.origin}
              // The prompts of a subagent come from the calling agent.
              isTask={transcript.session?.parent_id !== undefined}
              attachedParts={turn.attachments}
              isReverted={revertExtent === 'whole'}
            >
              <PromptText text={turn.prompt} line={turn.key} />
            </PromptHead>
            {revertExtent !== 'whole' && !isLive && (
              <MissingAnswerButton turnId={turn.key} />
            )}
            <ContextEditState
              targetId={turn.key}
              decisions={decisions.filter(
                ({ message_id }) => message_id === turn.key
              )}
            />
          </div>
        )}
        {(turn.messages.length > 0 || isLive || turn.prompt !== null) && (
          <ProposedFixProvider value={revertExtent === undefined ? fix : null}>
            <SegmentView
              segment={segment}
              isLive={isLive}
              status={transcript.status}
              heldRequests={isLive ? transcript.held : NO_HELD_REQUESTS}
              canRetry={canRetry}
              showsFigures={turn.origin?.kind !== 'cell'}
              cellId={turn.origin?.cell_id}
              showsGauge={false}
              buttons={
                turn.prompt !== null &&
                revertExtent !== 'whole' && (
                  <>
                    <ResendButtons
                      turnId={turn.key}
                      prompt={turn.entries[0]?.message as Message | undefined}
                    />
                    <ForkButton session={session} turnId={turn.key} />
                    <RevertButton turnId={turn.key} />
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
  ({ transcript: before, ...propsBefore }, { transcript: now, ...propsNow }) =>
    propsBefore.turn === propsNow.turn &&
    propsBefore.isLive === propsNow.isLive &&
    propsBefore.canRetry === propsNow.canRetry &&
    propsBefore.revertExtent === propsNow.revertExtent &&
    before.session?.id === now.session?.id &&
    before.session?.parent_id === now.session?.parent_id &&
    before.decisions === now.decisions &&
    before.density === now.density &&
    (!propsNow.isLive ||
      (before.status === now.status &&
        before.asks === now.asks &&
        before.questions === now.questions &&
        before.held === now.held &&
        before.replies === now.replies))
);

/** Draws the button that forks the session before a prompt; nothing in a read-only session. */
function ForkButton(props: { session: string; turnId: string }) {
  const { session, turnId } = props;
  const { words } = useHost();
  const sessions = useSessionActionsIfOffered();
  if (sessions === null) {
    return null;
  }
  return (
    <LinkButton
      className="plm-ForkButton"
      aria-label={words.__('Fork here')}
      title={words.__(
        'Begin a new session with all that came before this prompt; this one stays as it is'
      )}
      onClick={() => {
        sessions.fork(session, turnId);
      }}
    >
      {words.__('Fork')}
    </LinkButton>
  );
}
