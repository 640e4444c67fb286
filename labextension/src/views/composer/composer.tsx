/**
 * Where a person writes.
 */
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import type { KeyboardEvent } from 'react';
import type { Choices, SessionInfo } from '../../protocol/generated';
import { useHost } from '../host';
import { Picker } from '../controls/picker';
import { Completions, listed, useCompletion, wordAt } from './completion';
import { AttachmentChips } from './attachmentChips';
import { filesOf, type IDrafts } from './drafts';
import { useNotebookActions } from '../actions/notebook';
import { usePromptActions } from '../actions/prompts';
import { useSessionOpener } from '../actions/sessions';
import { PermissionMode, TrustPrompt } from './permissionMode';

/** Which keys send what is written. */
export type SendKey = 'Enter' | 'Accel Enter';

interface IComposerProps {
  /** Tells one notebook's session from another's. */
  draftKey: string;
  drafts: IDrafts;
  /** A turn runs: what is sent now waits behind it. */
  busy: boolean;
  readOnly: boolean;
  sendKey: SendKey;
  session?: SessionInfo;
}

/** Draws the text field, its button, and what will answer. */
export function Composer({
  draftKey,
  drafts,
  busy,
  readOnly,
  sendKey,
  session
}: IComposerProps) {
  const { words } = useHost();
  const prompts = usePromptActions();
  const opener = useSessionOpener();
  const notebook = useNotebookActions();
  const { text: draft, chosen } = drafts.draft;
  const field = useRef<HTMLTextAreaElement>(null);
  const hint = useId();
  const [caret, setCaret] = useState<number | null>(null);
  const word = caret === null || readOnly ? null : wordAt(draft, caret);
  // A file that was written since is offered too: what there is, is asked for with each sign.
  const [choices, look] = useChoices(`${draftKey} ${word?.sign ?? ''}`);
  const { list, onKey } = useCompletion(
    field,
    draft,
    (text, at) => {
      drafts.write(text);
      setCaret(at);
    },
    word,
    choices
  );
  useLayoutEffect(() => {
    const area = field.current;
    if (area !== null) {
      area.style.height = 'auto';
      area.style.height = `${area.scrollHeight + 2}px`;
    }
  }, [draft, draftKey]);
  const send = () => {
    const text = draft.trim();
    if (text === '' || readOnly) {
      return;
    }
    drafts.write('');
    drafts.choose({});
    prompts.send(text, chosen).catch(() => {
      // The panel says why; what was written is not lost.
      drafts.giveBack(text, chosen);
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) {
      return;
    }
    if (onKey(event)) {
      event.stopPropagation();
      return;
    }
    if (event.key === 'Escape') {
      event.preventDefault();
      notebook.focus();
    } else if (event.key === 'Enter' && sends(event, sendKey)) {
      event.preventDefault();
      send();
    } else if ((event.ctrlKey || event.metaKey) && event.shiftKey) {
      return; // JupyterLab's own, such as its palette, and the panel's
    }
    event.stopPropagation();
  };
  return (
    <form
      className="plm-Composer"
      onSubmit={event => {
        event.preventDefault();
        send();
      }}
    >
      {list !== null && <Completions list={list} />}
      <textarea
        ref={field}
        className="plm-Field plm-Composer-field"
        dir="auto"
        rows={2}
        aria-label={words.__('Prompt for the agent')}
        aria-describedby={hint}
        {...listed(list)}
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
      <AttachmentChips
        files={filesOf(chosen)}
        onLeaveOut={left => {
          const files = filesOf(chosen).filter((_, index) => index !== left);
          drafts.choose({ ...chosen, files });
          field.current?.focus();
        }}
      />
      <span className="plm-Composer-foot">
        <span
          className={`plm-Muted plm-Composer-hint${readOnly ? '' : ' plm-Composer-keys'}`}
          id={hint}
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
          onTrusted={look}
          drafts={drafts}
          readOnly={readOnly}
          session={session}
        />
        {readOnly && session?.parent_id !== undefined && (
          <button
            type="button"
            className="plm-Button"
            onClick={() => {
              opener.open(session.parent_id ?? '');
            }}
          >
            {words.__('Back')}
          </button>
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

/** Returns what there is to choose, asked for anew when the key is another one, and how to ask. */
function useChoices(key: string): [Choices | null, () => void] {
  const prompts = usePromptActions();
  const [choices, setChoices] = useState<Choices | null>(null);
  const [looks, setLooks] = useState(0);
  useEffect(() => {
    let wanted = true;
    void prompts.choices().then(found => {
      if (wanted) {
        setChoices(found);
      }
    });
    return () => {
      wanted = false;
    };
  }, [prompts, key, looks]);
  return [
    choices,
    () => {
      setLooks(looks + 1);
    }
  ];
}

/** Draws which agent and model will answer, and lets a person choose others. */
function AnswerSettings({
  choices,
  drafts,
  onTrusted,
  readOnly,
  session
}: Pick<IComposerProps, 'drafts' | 'readOnly' | 'session'> & {
  choices: Choices | null;
  onTrusted: () => void;
}) {
  const { words } = useHost();
  if (readOnly) {
    return null;
  }
  const { chosen } = drafts.draft;
  const { model } = session ?? {};
  const kept = model === undefined ? '' : `${model.provider}/${model.name}`;
  return (
    <>
      <TrustPrompt waits={choices?.untrusted ?? []} onTrusted={onTrusted} />
      <span className="plm-Composer-chips">
        <Picker
          label={words.__('Agent')}
          value={chosen.agent ?? session?.agent ?? choices?.agent ?? ''}
          options={(choices?.agents ?? []).map(({ name, description }) => ({
            value: name,
            about: description
          }))}
          onChoose={agent => {
            drafts.choose({ ...chosen, agent });
          }}
        />
        <PermissionMode session={session} choices={choices} />
        <Picker
          label={words.__('Model')}
          value={chosen.model ?? (kept || (choices?.model ?? ''))}
          options={(choices?.models ?? []).map(({ id, window, because }) => ({
            value: id,
            about: /^\d/.test(window)
              ? words.__('%1 tokens · %2', window, because)
              : words.__('%1 · %2', window, because)
          }))}
          free
          onChoose={name => {
            drafts.choose({ ...chosen, model: name });
          }}
        />
      </span>
    </>
  );
}

function sends(event: KeyboardEvent, sendKey: SendKey): boolean {
  const accel = event.ctrlKey || event.metaKey;
  return sendKey === 'Enter' ? !event.shiftKey && !event.altKey : accel;
}
