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
import { AnswerSettings, modelOf, useChoices } from './answerSettings';
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
  stepping: boolean;
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
  stepping,
  onAnswered
}: IComposerProps) {
  const { words } = useHost();
  const prompts = usePromptActions();
  const opener = useSessionOpener();
  const notebook = useNotebookActions();
  const { text: draft, chosen, replaced } = drafts.draft;
  const field = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();
  const mentionsId = useId();
  const [caret, setCaret] = useState<number | null>(null);
  const word =
    caret === null || readOnly
      ? null
      : (wordAt(draft, caret) ?? argumentAt(draft, caret));
  const agent = chosen.agent ?? session?.agent;
  const mention = word?.sign === '@' ? word : null;
  const rows = useMentionRows(
    draftKey,
    mention?.start ?? null,
    mention?.typed ?? '',
    agent
  );
  const previews = useMentionPreviews(draftKey, readOnly ? '' : draft, agent);
  // The choices are requested again with each sign, since a definition file may be new.
  const [choices, requestChoices] = useChoices(
    `${draftKey} ${word?.sign ?? ''}`
  );
  const commands = useSlashCommands(draftKey, readOnly ? '' : draft, caret);
  const { list, onKey } = useCompletion(
    field,
    draft,
    (text, at) => {
      drafts.write(text);
      setCaret(at);
    },
    word,
    choices,
    rows,
    commands
  );
  // A word that is still being completed names nothing yet.
  const typed =
    list !== null && word !== null ? draft.slice(word.start, word.end) : '';
  const chips = previews.filter(
    ({ state, text }) => state !== 'unknown' || text !== typed
  );
  useLayoutEffect(() => {
    const area = field.current;
    if (area !== null) {
      area.style.height = 'auto';
      area.style.height = `${area.scrollHeight + 2}px`;
    }
  }, [draft, draftKey]);
  const nextCaretRef = useNextCaret(field, draft);
  const history = usePromptHistory(draftKey, draft, (text, at) => {
    drafts.write(text);
    nextCaretRef.current = at;
  });
  const form = useRef<HTMLFormElement>(null);
  const pasted = usePastedFiles(
    form,
    drafts,
    { model: modelOf(chosen, session, choices), agent },
    readOnly,
    mention => {
      const { value, selectionStart } = field.current ?? EMPTY_FIELD;
      const [text, at] = withMention(value, selectionStart, mention);
      drafts.write(text);
      nextCaretRef.current = at;
    }
  );
  const send = () => {
    const text = draft.trim();
    if (text === '' || readOnly || pasted.focusUndecided()) {
      return;
    }
    drafts.end();
    history.sent(text);
    onAnswered(null);
    const sent =
      replaced === undefined
        ? prompts.send(text, chosen)
        : prompts.replace(replaced, text, chosen);
    sent.then(
      typed => {
        if (typed !== null) {
          const { agent, model } = typed;
          // What was chosen and attached goes with the prompt after the command.
          drafts.keep({
            ...chosen,
            ...(agent && { agent }),
            ...(model && { model })
          });
          onAnswered({ ...typed, command: text });
        }
      },
      () => {
        // The panel shows the error; the draft is restored.
        drafts.giveBack(text, chosen, replaced);
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
      notebook.focus();
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
      ref={form}
      className="plm-Composer"
      data-over={pasted.isOver}
      {...pasted.handlers}
      onSubmit={event => {
        event.preventDefault();
        send();
      }}
    >
      {list !== null && <Completions list={list} />}
      <CompletionStatus list={list} />
      <span className="plm-Hidden" role="status">
        {history.shown !== '' && words.__('Earlier prompt: %1', history.shown)}
      </span>
      <textarea
        ref={field}
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
          history.edited();
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
      <MentionChips previews={chips} id={mentionsId} />
      <AttachmentChips
        files={filesOf(chosen)}
        known={pasted.known}
        onLeaveOut={leftOut => {
          const files = filesOf(chosen).filter((_, index) => index !== leftOut);
          drafts.choose({ ...chosen, files });
          field.current?.focus();
        }}
      />
      <PastedFilesStatus pasted={pasted} />
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
          stepping={stepping}
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
  at: number,
  mention: string
): [string, number] {
  const before = text.slice(0, at);
  const gap = before === '' || /\s$/.test(before) ? '' : ' ';
  const start = `${before}${gap}${mention} `;
  return [start + text.slice(at).trimStart(), start.length];
}

function isSendKey(event: KeyboardEvent, sendKey: SendKey): boolean {
  const accel = event.ctrlKey || event.metaKey;
  return sendKey === 'Enter' ? !event.shiftKey && !event.altKey : accel;
}
