/** The fields that can be changed before a held request is sent: policy numbers and the spending limit. */
import { useId, useState } from 'react';
import type { ProposedRequest } from '../../protocol/generated';
import type { IHeldRequestActions } from '../actions/heldRequests';
import { useHost } from '../host';

/** Draws a field for each number; Enter, or leaving it, makes a new proposal. */
export function HeldRequestFields(props: {
  request: ProposedRequest;
  actions: IHeldRequestActions;
}) {
  const { request, actions } = props;
  const { words } = useHost();
  const { limit_tokens: limitTokens, limit_usd: limitUsd, numbers } = request;
  return (
    <div className="plm-HeldRequest-numbers">
      {numbers.map(({ meaning, name, value }) => (
        <ValueField
          key={`${name} ${value}`}
          label={name}
          meaning={meaning}
          value={String(value)}
          onChange={async text =>
            Number.isFinite(Number(text))
              ? actions.changeNumber(request.id, name, Number(text))
              : words.__('Write a number such as %1.', value)
          }
        />
      ))}
      <ValueField
        key={`limit ${limitUsd ?? ''}`}
        label={words.__('spending limit in USD')}
        meaning={words.__(
          'Of the whole session; checked when the request is sent. Empty: no limit'
        )}
        value={limitUsd === undefined ? '' : String(limitUsd)}
        emptyMeaning={words.__('none')}
        onChange={async text => {
          const amount = Number(text);
          if (text !== '' && !(Number.isFinite(amount) && amount > 0)) {
            return words.__('Write an amount such as 2.50, or nothing.');
          }
          return actions.changeLimit(
            text === '' ? undefined : amount,
            limitTokens ?? undefined
          );
        }}
      />
    </div>
  );
}

function ValueField(props: {
  /** The meaning of an empty field; without one, an emptied field gets its value back. */
  emptyMeaning?: string;
  label: string;
  meaning: string;
  value: string;
  /** Changes the value; resolves to an error sentence, or an empty string. */
  onChange: (text: string) => Promise<string>;
}) {
  const { emptyMeaning, label, meaning, onChange, value } = props;
  const [typed, setText] = useState(value);
  const [failure, setFailure] = useState('');
  const fieldId = useId();
  const submit = () => {
    const trimmed = typed.trim();
    if (trimmed === value || (trimmed === '' && emptyMeaning === undefined)) {
      setText(value);
      setFailure('');
    } else {
      void onChange(trimmed).then(setFailure);
    }
  };
  return (
    <form
      className="plm-HeldRequest-number"
      onSubmit={event => {
        event.preventDefault();
        submit();
      }}
    >
      <label htmlFor={fieldId} title={meaning}>
        {label}
      </label>
      <input
        id={fieldId}
        className="plm-Field"
        inputMode="decimal"
        placeholder={emptyMeaning}
        value={typed}
        aria-description={meaning}
        aria-invalid={failure !== ''}
        onChange={event => {
          setText(event.target.value);
        }}
        onBlur={submit}
        onKeyDown={event => {
          event.stopPropagation();
        }}
      />
      {failure !== '' && (
        <span className="plm-Muted" role="alert">
          {failure}
        </span>
      )}
    </form>
  );
}
