/** The panel with a session beside the notebook. */
import {
  useEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefObject
} from 'react';
import type { Message } from '../../protocol/generated';
import { revertedMessages } from '../../state/session/reverts';
import { isBusy, windowUsage } from '../../state/session/status';
import {
  CellActionsProvider,
  CellReviewActionsProvider
} from '../actions/cells';
import { ContextEditorProvider } from '../actions/contextEdits';
import { useInspectorOpener } from '../actions/inspector';
import { PanelActionsProvider, type IPanelActions } from '../actions/panel';
import { ResendActionsProvider, type IResendActions } from '../actions/resends';
import { RevertActionsProvider } from '../actions/reverts';
import { LinkButton } from '../controls/buttons';
import { useHost } from '../host';
import { buttonOfKey } from '../parts/answerKeys';
import { Announcements } from '../transcript/liveRegion';
import { CommandAnswer, type ICommandAnswer } from '../composer/commandAnswer';
import { Composer } from '../composer/composer';
import { useLatest } from '../dom/effects';
import { chosenFor, useDrafts } from '../drafts/drafts';
import { PanelHeader, type HeaderView } from './panelHeader';
import type { IPanelState } from './panelState';
import { EditedPrompt } from './editedPrompt';
import { EmptyState, GettingStarted } from './emptyState';
import { MissingAnswersProvider } from '../transcript/missingAnswerButton';
import { QueuedPrompts } from '../composer/queuedPrompts';
import { TodoChip, TodoStrip, usePutAway } from './todoStrip';
import { RevertBanner } from '../transcript/revertControls';
import { Transcript } from '../transcript/transcript';

interface IChatPanelProps {
  state: IPanelState;
  actions: IPanelActions;
  /** Dismisses the shown error. */
  onDismissFailure: () => void;
  onDismissNotice?: () => void;
  /** What stands above the header. */
  above?: ReactNode;
  /** Ends the search in the session. */
  onSearchEnd?: () => void;
}

/** Draws the panel. */
export function ChatPanel({
  state,
  actions,
  onDismissFailure,
  onDismissNotice,
  above,
  onSearchEnd
}: IChatPanelProps) {
  const { words } = useHost();
  const elementRef = useRef<HTMLDivElement>(null);
  const { transcript, status, failure, notice = '' } = state;
  const ready = status === 'ready';
  usePanelFocus(elementRef);
  const drafts = useDrafts(state.key, state.switchedHere);
  const [view, setView] = useState<HeaderView | null>(null);
  const [answer, setAnswer] = useState<ICommandAnswer | null>(null);
  // Both are about one notebook.
  if (!ready && (view !== null || answer !== null)) {
    setView(null);
    setAnswer(null);
  }
  const inspector = useInspectorOpener();
  const onAnswered = (answered: ICommandAnswer | null) => {
    setAnswer(answered?.markdown ? answered : null);
    if (answered?.view === 'inspector') {
      inspector?.inspect();
    } else if (
      answered?.view === 'window' &&
      windowUsage(transcript) === null
    ) {
      const markdown = words.__('No request was sent in this session yet.');
      setAnswer({ ...answered, markdown });
    } else if (answered?.view !== undefined) {
      setView(answered.view);
    }
  };
  const reverted = revertedMessages(transcript);
  const putAway = usePutAway(transcript);
  const canRevert = !state.readOnly && !isBusy(transcript);
  const edit = useLatest((prompt: Message) => {
    drafts.edit(prompt, transcript.session);
    focusComposer(elementRef.current);
  });
  // The same value while nothing changes, since every turn reads it.
  const resends = useMemo(
    (): IResendActions | null =>
      canRevert
        ? {
            resend: (turn, overwrite, choice) =>
              actions.turn.retryTurn(turn, overwrite, choice),
            edit: (_, prompt) => {
              if (prompt !== undefined) {
                edit.current(prompt);
              }
            },
            choices: () => actions.prompts.choices()
          }
        : null,
    [actions, canRevert, edit]
  );
  return (
    <PanelActionsProvider actions={actions}>
      <RevertActionsProvider value={canRevert ? actions.reverts : null}>
        <div
          className="plm-Panel"
          ref={elementRef}
          onKeyDown={event => {
            answerByKey(event, elementRef.current);
          }}
        >
          {above}
          {ready ? (
            <>
              <PanelHeader transcript={transcript} view={view} onView={setView}>
                <TodoChip transcript={transcript} putAway={putAway} />
              </PanelHeader>
              <ResendActionsProvider value={resends}>
                <ContextEditorProvider
                  value={state.readOnly ? null : actions.contextEdits}
                >
                  <CellActionsProvider
                    value={state.readOnly ? null : actions.cells}
                  >
                    <CellReviewActionsProvider
                      value={state.readOnly ? null : actions.cellReviews}
                    >
                      <MissingAnswersProvider
                        value={state.missingAnswers ?? null}
                      >
                        <Transcript
                          key={state.key}
                          transcript={transcript}
                          readOnly={state.readOnly}
                          searchRequests={state.search}
                          onSearchEnd={onSearchEnd}
                          emptyContent={
                            state.loading === true ? null : <GettingStarted />
                          }
                        />
                      </MissingAnswersProvider>
                    </CellReviewActionsProvider>
                  </CellActionsProvider>
                </ContextEditorProvider>
                {reverted !== null && <RevertBanner reverted={reverted} />}
              </ResendActionsProvider>
              <Announcements transcript={transcript} />
            </>
          ) : (
            <EmptyState status={status} notebook={state.notebook} />
          )}
          {ready && notice !== '' && (
            <DismissibleNotice
              className="plm-Panel-notice"
              role="status"
              text={notice}
              onDismiss={onDismissNotice}
            />
          )}
          {failure !== '' && (
            <DismissibleNotice
              role="alert"
              text={failure}
              onDismiss={onDismissFailure}
            />
          )}
          {ready && (
            <>
              <TodoStrip transcript={transcript} putAway={putAway} />
              {answer !== null && (
                <CommandAnswer
                  answer={answer}
                  onClose={() => {
                    setAnswer(null);
                    focusComposer(elementRef.current);
                  }}
                />
              )}
              <QueuedPrompts
                key={`queue ${state.key}`}
                transcript={transcript}
                readOnly={state.readOnly}
                onStopped={(text, chosen) => {
                  drafts.giveBack(text, chosen);
                }}
                onEdit={prompt => {
                  drafts.giveBack(prompt.text, chosenFor(prompt));
                  focusComposer(elementRef.current);
                }}
              />
              <EditedPrompt
                drafts={drafts}
                onCancel={() => {
                  drafts.end();
                  focusComposer(elementRef.current);
                }}
              />
              <Composer
                draftKey={state.key}
                drafts={drafts}
                session={transcript.session}
                stepping={transcript.stepping}
                busy={isBusy(transcript)}
                readOnly={state.readOnly}
                sendKey={state.sendKey}
                onAnswered={onAnswered}
              />
            </>
          )}
        </div>
      </RevertActionsProvider>
    </PanelActionsProvider>
  );
}

/** Draws a sentence that can be dismissed. */
function DismissibleNotice(props: {
  className?: string;
  role: 'alert' | 'status';
  text: string;
  onDismiss: (() => void) | undefined;
}) {
  const { className = '', role, text, onDismiss } = props;
  const { words } = useHost();
  return (
    <div className={`plm-Panel-failure ${className}`} role={role}>
      <span>{text}</span>
      <LinkButton onClick={onDismiss}>{words.__('Dismiss')}</LinkButton>
    </div>
  );
}

function focusComposer(panel: HTMLElement | null): void {
  panel
    ?.querySelector<HTMLElement>('.plm-Composer-field')
    ?.focus({ preventScroll: true });
}

/** Lets digit keys answer the first question, from anywhere in the panel except text fields. */
function answerByKey(event: KeyboardEvent, panel: HTMLElement | null): void {
  const target = event.target as HTMLElement;
  if (target.matches('input, textarea')) {
    return;
  }
  const button = buttonOfKey(event, panel);
  if (button) {
    event.preventDefault();
    event.stopPropagation();
    button.click();
  }
}

/**
 * Keeps the focus in the panel when the focused element disappears, such as an answered question or
 * the button that loaded the package.
 *
 * Focus events on the whole page decide whether the panel has the focus: a blur event alone is not
 * enough, since it does not always name the element that gets the focus.
 */
function usePanelFocus(panel: RefObject<HTMLElement | null>): void {
  const hasFocus = useRef(false);
  useEffect(() => {
    const noteFocus = (event: Event) => {
      hasFocus.current = panel.current?.contains(event.target as Node) ?? false;
    };
    document.addEventListener('pointerdown', noteFocus, true);
    document.addEventListener('focusin', noteFocus, true);
    return () => {
      document.removeEventListener('pointerdown', noteFocus, true);
      document.removeEventListener('focusin', noteFocus, true);
    };
  }, [panel]);
  useEffect(() => {
    const { activeElement, body } = document;
    if (
      hasFocus.current &&
      (activeElement === null || activeElement === body)
    ) {
      focusComposer(panel.current);
    }
  });
}
