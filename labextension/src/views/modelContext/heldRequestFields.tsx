/** The fields that can be changed before a held request is sent: policy numbers and the spending limit. */
import { useId, useState } from 'react';
import type { ProposedRequest } from '../../protocol/generated';
import type { IHeldRequestActions } from '../actions/heldRequests';
import { useHost } from '../host';

/** Draws a field for each number; Enter, or leaving it, makes a new proposal. */
export function HeldRequestFields(props: {
  held: ProposedRequest;
  actions: IHeldRequestActions;
}) {
  const { held, actions } = props;
  const { words } = useHost();
  const { limit_tokens: tokens, limit_usd: usd, numbers } = held;
  return (
    <div className="plm-HeldRequest-numbers">
      {numbers.map(({ meaning, name, value }) => (
        <ValueField
          key={`${name} ${value}`}
          label={name}
          meaning={meaning}
          value={String(value)}
          onChange={async typed =>
            Number.isFinite(Number(typed))
              ? actions.changeNumber(held.id, name, Number(typed))
              : words.__('Write a number such as %1.', value)
          }
        />
      ))}
      <ValueField
        key={`limit ${usd ?? ''}`}
        label={words.__('spending limit in USD')}
        meaning={words.__(
          'Of the whole session; checked when the request is sent. Empty: no limit'
        )}
        value={usd === undefined ? '' : String(usd)}
        empty={words.__('none')}
        onChange={async typed => {
          const amount = Number(typed);
          if (typed !== '' && !(Number.isFinite(amount) && amount > 0)) {
            return words.__('Write an amount such as 2.50, or nothing.');
          }
          return actions.changeLimit(
            typed === '' ? undefined : amount,
            tokens ?? undefined
          );
        }}
      />
    </div>
  );
}

function ValueField(props: {
  /** The meaning of an empty field; without one, an emptied field gets its value back. */
  empty?: string;
  label: string;
  meaning: string;
  value: string;
  /** Changes the value; resolves to an error sentence, or an empty string. */
  onChange: (typed: string) => Promise<string>;
}) {
  const { empty, label, meaning, onChange, value } = props;
  const [typed, setTyped] = useState(value);
  const [failure, setFailure] = useState('');
  const field = useId();
  const change = () => {
    const trimmed = typed.trim();
    if (trimmed === value || (trimmed === '' && empty === undefined)) {
      setTyped(value);
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
        change();
      }}
    >
      <label htmlFor={field} title={meaning}>
        {label}
      </label>
      <input
        id={field}
        className="plm-Field"
        inputMode="decimal"
        placeholder={empty}
        value={typed}
        aria-description={meaning}
        aria-invalid={failure !== ''}
        onChange={event => {
          setTyped(event.target.value);
        }}
        onBlur={change}
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
