/** A tool call: one row that opens to its input and output, with its permission question. */
import { useMemo, type ReactNode } from 'react';
import type {
  Ask,
  Attachment,
  Decision,
  QuestionAsked,
  Reply,
  ToolPart
} from '../../protocol/generated';
import {
  callOutcome,
  isErrorRedundant,
  type ICallOutcome
} from '../../state/lines/callOutcomes';
import { durationText } from '../../state/text/numberFormat';
import {
  questionInput,
  callAttachments,
  changedLineCounts,
  callSeconds,
  callInput,
  callOutput,
  shownResults,
  callSubject,
  toolKind
} from '../../state/lines/toolCalls';
import { changesOfCall } from '../../state/review/cellReview';
import { effectiveDecisions } from '../../state/session/contextEdits';
import { visibleText } from '../../state/text/visibleText';
import { ASKED_TEXT } from '../dom/endSeen';
import { showsAll, TextEnd } from '../controls/diff';
import { Copyable } from '../controls/buttons';
import { ElapsedTime } from '../controls/elapsedTime';
import { useNotebookActionsIfOffered } from '../actions/notebook';
import { Attachments, Thumbnails } from './attachments';
import { Disclosure } from '../controls/disclosure';
import { useHost, type IWords } from '../host';
import { refusalText } from '../controls/permissionWords';
import { QuestionForm } from './questionForm';
import { PermissionPrompt } from './permissionPrompt';
import { ReductionNote, reductionLabel } from '../modelContext/reductionNote';
import { ShownResults } from './shownResults';
import { StatusIcon, type CallState } from '../controls/statusIcon';
import { useTailScroll } from '../dom/tailScroll';
import { SubagentCall, subagentSessionId } from './subagentCall';
import { TOOL_VIEWS } from './toolViews';
import { ChangeList } from '../review/changeList';
import { ContextEditNote } from '../modelContext/editButtons';

interface IToolCallProps {
  part: ToolPart;
  /** The open permission question of this call. */
  ask?: Ask;
  /** The open question that this call asks the user. */
  openQuestions?: QuestionAsked;
  /** The user's reply. */
  reply?: Reply;
  /** Decisions that reduced the output for the model. */
  decisions?: readonly Decision[];
  /** Whether the turn is over: a call that still seems to run was interrupted. */
  isOver: boolean;
  /** Whether it is the newest call, which is open while it runs. */
  isNewest: boolean;
  /** Whether elapsed time is shown and updated. */
  isLive?: boolean;
  /** The reason why the turn was stopped, which is shown at its end. */
  stopNotice?: string;
  /** Whether figures are shown without opening the card, since no cell shows them. */
  showsFigures?: boolean;
  /** The id of the cell that shows its figures, to which small pictures of them lead. */
  cellId?: string;
}

/** Draws one call. */
export function ToolCall({
  part,
  ask,
  openQuestions,
  reply,
  decisions = [],
  isOver,
  isNewest,
  isLive = false,
  stopNotice = '',
  showsFigures = false,
  cellId
}: IToolCallProps) {
  const { words } = useHost();
  const notebookActions = useNotebookActionsIfOffered();
  const outcome = callOutcome(part, reply);
  const state = stateOf(outcome, ask ?? openQuestions, isOver);
  const endReason = endReasonOf(outcome, stopNotice, words);
  const { edit, reduction } = effectiveDecisions(decisions);
  const head = (
    <>
      <StatusIcon state={state} />{' '}
      <span className="plm-Tool-name">{part.tool}</span>{' '}
      <span className="plm-Tool-subject">{callSubject(part)}</span>{' '}
      {endReason !== '' ? (
        <span className="plm-Tool-reason" data-state={state} title={endReason}>
          <bdi>{visibleText(endReason)}</bdi>
        </span>
      ) : (
        <span className="plm-Tool-note">
          {state === 'running' && isLive && part.state.status === 'running' ? (
            <ElapsedTime since={part.state.time.start} />
          ) : (
            noteOf(part, state, edit, reduction, words)
          )}
        </span>
      )}
    </>
  );
  // A diff shows the whole input, and what was there before.
  const asksByDiff = state === 'waiting' && showsAll(ask?.diff ?? '');
  const isOwnAsk =
    state === 'waiting' && ask !== undefined && !isFromSubagent(ask, part);
  const replacingView = replacingViewOf(part, openQuestions, state);
  const isThumbnail =
    !showsFigures && cellId !== undefined && notebookActions !== null;
  const shownPictures =
    (showsFigures || isThumbnail) && toolKind(part.tool).readsImages !== true
      ? callImages(part)
      : [];
  const results = shownResults(part);
  const isOpen =
    state === 'waiting' ||
    (state === 'running' && isNewest) ||
    (replacingView !== null && isNewest && !isOver);
  const card = (
    <Disclosure
      className="plm-Tool"
      head={head}
      state={state}
      open={isOpen}
      line={part.id}
    >
      <div className="plm-Tool-card" data-state={state}>
        {!asksByDiff &&
          (replacingView ??
            (isOwnAsk ? <AskInput ask={ask} /> : <Input part={part} />))}
        <SubagentCall part={part} isOver={isOver} />
        {state === 'waiting' && isFromSubagent(ask, part) && (
          <AskInput ask={ask} />
        )}
        {ask !== undefined && state === 'waiting' && (
          <PermissionPrompt ask={ask} isInputAbove={!asksByDiff}>
            <ProposedChanges part={part} ask={ask} />
          </PermissionPrompt>
        )}
        {(replacingView === null || state === 'error') &&
          !isListEnough(part) && (
            <Output
              part={part}
              files={callAttachments(part).filter(
                file => !shownPictures.includes(file)
              )}
              state={state}
              rowReason={
                isErrorRedundant(outcome) && part.state.status === 'error'
                  ? part.state.error
                  : endReason
              }
              stopNotice={stopNotice}
            />
          )}
        <CallFacts part={part} reply={reply} />
        {reduction !== null && <ReductionNote decision={reduction} />}
        {['completed', 'error'].includes(part.state.status) && (
          <ContextEditNote targetId={part.id} decisions={decisions} />
        )}
      </div>
    </Disclosure>
  );
  return shownPictures.length + results.length === 0 ? (
    card
  ) : (
    <>
      {card}
      <div className="plm-Figures">
        {isThumbnail ? (
          <Thumbnails
            files={shownPictures}
            onChoose={() => {
              notebookActions.showCell(cellId);
            }}
          />
        ) : (
          <Attachments files={shownPictures} />
        )}
        <ShownResults results={results} />
      </div>
    </>
  );
}

/** Draws the changes of cells that a question is about, each with its own answer. */
function ProposedChanges({ part, ask }: { part: ToolPart; ask: Ask }) {
  const changes = useMemo(() => changesOfCall(part, ''), [part]);
  return <ChangeList changes={changes} asks={[ask]} />;
}

function callImages(part: ToolPart) {
  return callAttachments(part).filter(({ mime }) => mime.startsWith('image/'));
}

/** Draws a view that replaces input and output; null if there is none. */
function replacingViewOf(
  part: ToolPart,
  openQuestions: QuestionAsked | undefined,
  state: CallState
): ReactNode {
  return openQuestions !== undefined && state === 'waiting' ? (
    <QuestionForm openQuestions={openQuestions} />
  ) : (
    (TOOL_VIEWS[part.tool]?.(part) ?? null)
  );
}

/**
 * Draws the input that a question is about, whole and with its hidden characters marked: it may differ from the
 * call's, which a hook can change.
 */
export function AskInput({ ask }: { ask: Ask }) {
  const { Code, words } = useHost();
  const { text, language, otherInputs: rest } = questionInput(ask);
  return (
    <section
      className="plm-Tool-input plm-AskInput"
      role="group"
      aria-label={words.__('Input')}
      // Long code scrolls, and must be readable by keyboard before an answer.
      tabIndex={0}
      {...{ [ASKED_TEXT]: '' }}
    >
      <Code text={visibleText(text)} language={language} />
      {rest !== '' && <Code text={visibleText(rest)} language="json" />}
      <TextEnd />
    </section>
  );
}

/** Returns whether the question comes from the subagent that works for this call. */
function isFromSubagent(ask: Ask | undefined, part: ToolPart): ask is Ask {
  return ask?.tool !== undefined && ask.tool !== part.tool;
}

/** Returns whether a task's card needs only the list of its subagent's calls. */
function isListEnough(part: ToolPart): boolean {
  return subagentSessionId(part) !== '' && part.state.status === 'running';
}

function Input({ part }: { part: ToolPart }) {
  const { Code, words } = useHost();
  const { text, language } = callInput(part);
  return (
    <section
      className="plm-Tool-input"
      // Not a landmark: every call has an input and an output.
      role="group"
      aria-label={words.__('Input')}
    >
      <Copyable
        copies={[
          {
            label: words.__('Copy'),
            name: words.__('Copy the input'),
            title: words.__('Copies this input to the clipboard'),
            text: () => text
          }
        ]}
      >
        <Code text={text} language={language} />
      </Copyable>
    </section>
  );
}

function Output(props: {
  part: ToolPart;
  files: readonly Attachment[];
  state: CallState;
  /** The error that the call's row already shows. */
  rowReason: string;
  stopNotice: string;
}) {
  const { part, files, state, rowReason, stopNotice } = props;
  const { Printed, words } = useHost();
  const text = callOutput(part);
  const error = part.state.status === 'error' ? part.state.error : '';
  // Shown in the row, or at the end of the turn.
  const isShownElsewhere =
    error === stopNotice || error === rowReason || state === 'stopped';
  const errorText = isShownElsewhere ? '' : error;
  const isEmpty = text === '' && errorText === '' && files.length === 0;
  const elementRef = useTailScroll(state === 'running' && !isEmpty);
  if (isEmpty) {
    return state === 'completed' ? (
      <p className="plm-Muted plm-Tool-output">{words.__('No output.')}</p>
    ) : null;
  }
  return (
    <section
      ref={elementRef}
      className="plm-Tool-output"
      role="group"
      aria-label={words.__('Output')}
    >
      {text !== '' && <Printed text={text} />}
      {errorText !== '' && errorText !== text && (
        <div className={state === 'error' ? 'plm-Tool-error' : undefined}>
          <Printed text={errorText} />
        </div>
      )}
      <Attachments files={files} />
    </section>
  );
}

function stateOf(
  { status }: ICallOutcome,
  ask: Ask | QuestionAsked | undefined,
  isOver: boolean
): CallState {
  if (status !== 'pending' && status !== 'running') {
    return status;
  }
  if (isOver) {
    return 'stopped';
  }
  return ask === undefined ? status : 'waiting';
}

/** Returns the end of a call for its row: the error's line, who refused it, or why it was stopped. */
function endReasonOf(
  { reason, refusal, status }: ICallOutcome,
  stopNotice: string,
  words: IWords
): string {
  if (status === 'refused') {
    return refusalText(refusal, words);
  }
  return reason === stopNotice ? '' : reason;
}

/** Returns the names of the hooks that changed a call's input or output. */
function changingHooks(part: ToolPart): string[] {
  const metadata = 'metadata' in part.state ? part.state.metadata : {};
  const names = [metadata.changed_by, metadata.output_changed_by];
  return [...new Set(names.filter(name => typeof name === 'string'))];
}

/** Returns the note behind a row's subject, where no reason is shown. */
function noteOf(
  part: ToolPart,
  state: CallState,
  edit: ReturnType<typeof effectiveDecisions>['edit'],
  reduction: Decision | null,
  words: IWords
): string {
  switch (state) {
    case 'waiting':
      return words.__('waiting for you');
    case 'running':
      return words.__('running');
    case 'stopped':
      return words.__('stopped');
    case 'completed':
    case 'error':
    case 'refused':
    case 'pending':
      break;
  }
  if (edit !== null) {
    return edit === 'pin' ? words.__('pinned') : words.__('excluded');
  }
  if (reduction !== null) {
    return reductionLabel(reduction, words);
  }
  return part.metadata?.provider_executed === true
    ? words.__('ran at the provider')
    : changedLineCounts(part);
}

/** Draws further facts about a call: its duration, who allowed it, and which hooks changed it. */
function CallFacts(props: { part: ToolPart; reply: Reply | undefined }) {
  const { part, reply } = props;
  const { words } = useHost();
  const seconds = callSeconds(part);
  const facts = [
    seconds === null ? '' : durationText(seconds),
    // A refusal is shown with its reason; a call that was stopped while it waited was refused by nobody.
    reply === undefined || reply.answer === 'reject'
      ? ''
      : replyText(reply, words),
    ...changingHooks(part).map(hook => words.__('changed by %1', hook))
  ].filter(fact => fact !== '');
  return facts.length === 0 ? null : (
    <p className="plm-Tool-facts">{facts.join(' · ')}</p>
  );
}

function replyText(reply: Reply, words: IWords): string {
  switch (reply.answer) {
    case 'once':
      return reply.by === '--yes'
        ? words.__('allowed by --yes')
        : words.__('allowed once');
    case 'always':
      return words.__('always allowed');
    case 'reject':
      return refusalText(reply, words);
  }
}
