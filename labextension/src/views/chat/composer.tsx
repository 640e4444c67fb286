/**
 * Where a person writes.
 */
import { useId, useLayoutEffect, useRef, useState } from 'react';
import type { KeyboardEvent } from 'react';
import { useHost } from '../host';
import { useChat, type SendKey } from './model';

export interface IComposerProps {
  /** Drafts are kept by this key. */
  draftKey: string;
  /** A turn runs: what is sent now waits behind it. */
  busy: boolean;
  readOnly: boolean;
  sendKey: SendKey;
}

/** Draws the text field and its button. */
export function Composer({
  draftKey,
  busy,
  readOnly,
  sendKey
}: IComposerProps) {
  const { words } = useHost();
  const chat = useChat();
  const [drafts, setDrafts] = useState<Partial<Record<string, string>>>({});
  const draft = drafts[draftKey] ?? '';
  const field = useRef<HTMLTextAreaElement>(null);
  const hint = useId();
  const write = (text: string) => {
    setDrafts(before => ({ ...before, [draftKey]: text }));
  };
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
    write('');
    chat.send(text).catch(() => {
      // The panel says why; what was written is not lost.
      setDrafts(before => ({
        ...before,
        [draftKey]: before[draftKey] ? `${text}\n${before[draftKey]}` : text
      }));
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) {
      return;
    }
    if (event.key === 'Escape') {
      event.preventDefault();
      chat.leave();
    } else if (event.key === 'Enter' && sends(event, sendKey)) {
      event.preventDefault();
      send();
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
      <textarea
        ref={field}
        className="plm-Field plm-Composer-field"
        rows={2}
        aria-label={words.__('Prompt for the agent')}
        aria-describedby={hint}
        placeholder={
          busy
            ? words.__('Say what comes next; it waits its turn')
            : words.__('Ask, or say what to do')
        }
        readOnly={readOnly}
        value={draft}
        onChange={event => {
          write(event.target.value);
        }}
        onKeyDown={onKeyDown}
      />
      <span className="plm-Composer-foot">
        <span className="plm-Muted" id={hint}>
          {readOnly
            ? words.__(
                'Another kernel writes this session. Begin a new one to go on here.'
              )
            : sendKey === 'Enter'
              ? words.__('Enter sends, Shift+Enter begins a line')
              : words.__('Ctrl+Enter sends')}
        </span>
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

function sends(event: KeyboardEvent, sendKey: SendKey): boolean {
  const accel = event.ctrlKey || event.metaKey;
  return sendKey === 'Enter' ? !event.shiftKey && !event.altKey : accel;
}
