/** The composer: the text field for prompts, with its options. */
import {
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type KeyboardEvent
} from 'react';
import type { SessionInfo } from '../../protocol/generated';
import { OutlinedButton } from '../controls/buttons';
import { useHost } from '../host';
import { AnswerSettings, modelIdOf, useChoices } from './answerSettings';
import {
  Completions,
  CompletionStatus,
  listAttributes,
  useCompletion,
  useNextCaret,
  wordAt
} from './completion';
import { AttachmentChips } from './attachmentChips';
import type { ICommandAnswer } from './commandAnswer';
import { MentionChips } from './mentionChips';
import { useMentionPreviews, useMentionRows } from './mentions';
import { filesOf, type IDrafts } from '../drafts/drafts';
import { useNotebookActions } from '../actions/notebook';
import { usePromptActions } from '../actions/prompts';
import { useSessionOpener } from '../actions/sessions';
import { PastedFilesStatus, usePastedFiles } from './pastedFiles';
import { OperationButtons } from './operationButtons';
import { usePromptHistory } from './promptHistory';
import { argumentAt, useSlashCommands } from './slashCommands';

/** The keys that send a prompt. */
export type SendKey = 'Enter' | 'Accel Enter';

interface IComposerProps {
  /** A key for each notebook and session. */
  draftKey: string;
  drafts: IDrafts;
  /** Whether a turn runs: a prompt sent now is queued. */
  busy: boolean;
  readOnly: boolean;
  sendKey: SendKey;
  session?: SessionInfo;
  /** Whether step mode is on: each request waits until it is let go. */
  isStepMode: boolean;
  /** Called with what a typed command answered, and with null when something is sent. */
  onAnswered: (answer: ICommandAnswer | null) => void;
}

/** Draws the text field, its button, and the chosen agent and model. */
export function Composer({
  draftKey,
  drafts,
  busy,
  readOnly,
  sendKey,
  session,
  isStepMode,
  onAnswered
}: IComposerProps) {
  const { words } = useHost();
  const prompts = usePromptActions();
  const opener = useSessionOpener();
  const notebookActions = useNotebookActions();
  const {
    text: draft,
    chosen: chosenOptions,
    replaced: replacedTurn
  } = drafts.draft;
  const fieldRef = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();
  const mentionsId = useId();
  const [caret, setCaret] = useState<number | null>(null);
  const word =
    caret === null || readOnly
      ? null
      : (wordAt(draft, caret) ?? argumentAt(draft, caret));
  const agent = chosenOptions.agent ?? session?.agent;
  const mention = word?.sign === '@' ? word : null;
  const rows = useMentionRows(
    draftKey,
    mention?.start ?? null,
    mention?.typedText ?? '',
    agent
  );
  const previews = useMentionPreviews(draftKey, readOnly ? '' : draft, agent);
  // The choices are requested again with each sign, since a definition file may be new.
  const [choices, requestChoices] = useChoices(
    `${draftKey} ${word?.sign ?? ''}`
  );
  const commands = useSlashCommands(draftKey, readOnly ? '' : draft, caret);
  const { list, onKey } = useCompletion(
    fieldRef,
    draft,
    (text, newCaret) => {
      drafts.write(text);
      setCaret(newCaret);
    },
    word,
    choices,
    rows,
    commands
  );
  // A word that is still being completed names nothing yet.
  const openWord =
    list !== null && word !== null ? draft.slice(word.start, word.end) : '';
  const shownPreviews = previews.filter(
    ({ state, text }) => state !== 'unknown' || text !== openWord
  );
  useLayoutEffect(() => {
    const textArea = fieldRef.current;
    if (textArea !== null) {
      textArea.style.height = 'auto';
      textArea.style.height = `${textArea.scrollHeight + 2}px`;
    }
  }, [draft, draftKey]);
  const nextCaretRef = useNextCaret(fieldRef, draft);
  const history = usePromptHistory(draftKey, draft, (text, newCaret) => {
    drafts.write(text);
    nextCaretRef.current = newCaret;
  });
  const formRef = useRef<HTMLFormElement>(null);
  const pastedFiles = usePastedFiles(
    formRef,
    drafts,
    { model: modelIdOf(chosenOptions, session, choices), agent },
    readOnly,
    mentionText => {
      const { value, selectionStart } = fieldRef.current ?? EMPTY_FIELD;
      const [text, newCaret] = withMention(value, selectionStart, mentionText);
      drafts.write(text);
      nextCaretRef.current = newCaret;
    }
  );
  const send = () => {
    const text = draft.trim();
    if (text === '' || readOnly || pastedFiles.focusUndecided()) {
      return;
    }
    drafts.end();
    history.noteSent(text);
    onAnswered(null);
    const answerPromise =
      replacedTurn === undefined
        ? prompts.send(text, chosenOptions)
        : prompts.replace(replacedTurn, text, chosenOptions);
    answerPromise.then(
      answer => {
        if (answer !== null) {
          const { agent, model } = answer;
          // What was chosen and attached goes with the prompt after the command.
          drafts.addOptions({
            ...chosenOptions,
            ...(agent && { agent }),
            ...(model && { model })
          });
          onAnswered({ ...answer, command: text });
        }
      },
      () => {
        // The panel shows the error; the draft is restored.
        drafts.giveBack(text, chosenOptions, replacedTurn);
      }
    );
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) {
      return;
    }
    if (onKey(event) || (!readOnly && history.onKey(event))) {
      event.stopPropagation();
      return;
    }
    if (event.key === 'Escape') {
      event.preventDefault();
      notebookActions.focus();
    } else if (event.key === 'Enter' && isSendKey(event, sendKey)) {
      event.preventDefault();
      send();
    } else if (
      (event.ctrlKey || event.metaKey) &&
      (event.shiftKey || event.key === 'f')
    ) {
      return; // shortcuts of JupyterLab, such as its palette, and of the panel
    }
    event.stopPropagation();
  };
  return (
    <form
      ref={formRef}
      className="plm-Composer"
      data-over={pastedFiles.isDraggedOver}
      {...pastedFiles.handlers}
      onSubmit={event => {
        event.preventDefault();
        send();
      }}
    >
      {list !== null && <Completions list={list} />}
      <CompletionStatus list={list} />
      <span className="plm-Hidden" role="status">
        {history.shownPrompt !== '' &&
          words.__('Earlier prompt: %1', history.shownPrompt)}
      </span>
      <textarea
        ref={fieldRef}
        className="plm-Field plm-Composer-field"
        dir="auto"
        rows={1}
        aria-label={words.__('Prompt for the agent')}
        aria-describedby={`${hintId} ${mentionsId}`}
        {...listAttributes(list)}
        placeholder={
          readOnly
            ? words.__('Here to read')
            : busy
              ? words.__('Say what comes next; it waits its turn')
              : words.__('Ask, or say what to do')
        }
        readOnly={readOnly}
        value={draft}
        onChange={event => {
          history.noteEdit();
          drafts.write(event.target.value);
          setCaret(event.target.selectionStart);
        }}
        onSelect={event => {
          setCaret(event.currentTarget.selectionStart);
        }}
        onBlur={() => {
          setCaret(null);
        }}
        onKeyDown={onKeyDown}
      />
      <MentionChips previews={shownPreviews} id={mentionsId} />
      <AttachmentChips
        files={filesOf(chosenOptions)}
        descriptions={pastedFiles.descriptions}
        onLeaveOut={leftOut => {
          const files = filesOf(chosenOptions).filter(
            (_, index) => index !== leftOut
          );
          drafts.chooseOptions({ ...chosenOptions, files });
          fieldRef.current?.focus();
        }}
      />
      <PastedFilesStatus pasted={pastedFiles} />
      {!readOnly && <OperationButtons key={draftKey} />}
      <span className="plm-Composer-foot">
        <span
          className={`plm-Muted plm-Composer-hint${readOnly ? '' : ' plm-Composer-keys'}`}
          id={hintId}
        >
          {readOnly
            ? session?.parent_id === undefined
              ? words.__(
                  'Another kernel writes this session. Begin a new one to go on here.'
                )
              : words.__('An agent worked here on a task; it is here to read.')
            : sendKey === 'Enter'
              ? words.__('Enter sends, Shift+Enter begins a line')
              : words.__('Ctrl+Enter sends')}
        </span>
        <AnswerSettings
          choices={choices}
          onTrusted={requestChoices}
          drafts={drafts}
          readOnly={readOnly}
          session={session}
          isStepMode={isStepMode}
        />
        {readOnly && session?.parent_id !== undefined && (
          <OutlinedButton
            onClick={() => {
              opener.open(session.parent_id ?? '');
            }}
          >
            {words.__('Back')}
          </OutlinedButton>
        )}
        <button
          type="submit"
          className="plm-Button"
          data-main
          disabled={draft.trim() === '' || readOnly}
        >
          {busy ? words.__('Queue') : words.__('Send')}
        </button>
      </span>
    </form>
  );
}

const EMPTY_FIELD = { value: '', selectionStart: 0 };

/** Returns a text with a mention at a place, between spaces, and the place behind it. */
function withMention(
  text: string,
  caret: number,
  mention: string
): [string, number] {
  const before = text.slice(0, caret);
  const space = before === '' || /\s$/.test(before) ? '' : ' ';
  const textBehind = `${before}${space}${mention} `;
  return [textBehind + text.slice(caret).trimStart(), textBehind.length];
}

function isSendKey(event: KeyboardEvent, sendKey: SendKey): boolean {
  const hasAccelKey = event.ctrlKey || event.metaKey;
  return sendKey === 'Enter' ? !event.shiftKey && !event.altKey : hasAccelKey;
}
