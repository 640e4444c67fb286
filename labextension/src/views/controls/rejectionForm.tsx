/** The field for the reason of a rejection. */
import { useId, useState } from 'react';
import { OutlinedButton } from './buttons';
import { useHost } from '../host';

/** Asks for the reason of a rejection, which is a message to the agent. */
export function RejectionForm(props: {
  label: string;
  /** The message, empty where none was written. */
  onSend: (feedback: string) => void;
  onBack: () => void;
}) {
  const { label, onSend, onBack } = props;
  const { words } = useHost();
  const [feedback, setFeedback] = useState('');
  const fieldId = useId();
  return (
    <form
      className="plm-Rejection"
      // A notebook takes keys for its commands wherever no cell is edited.
      data-lm-suppress-shortcuts="true"
      onSubmit={event => {
        event.preventDefault();
        onSend(feedback.trim());
      }}
    >
      <label htmlFor={fieldId}>{label}</label>
      <input
        id={fieldId}
        className="plm-Field"
        autoFocus
        value={feedback}
        onChange={event => {
          setFeedback(event.target.value);
        }}
        onKeyDown={event => {
          event.stopPropagation();
          if (event.key === 'Escape') {
            onBack();
          }
        }}
      />
      <span className="plm-Rejection-buttons">
        <button type="submit" className="plm-Button" data-answer="reject">
          {words.__('Reject')}
        </button>
        <OutlinedButton onClick={onBack}>{words.__('Back')}</OutlinedButton>
      </span>
    </form>
  );
}
