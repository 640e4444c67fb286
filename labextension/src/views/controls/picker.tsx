/** A chip with the chosen value that opens a list of other values. */
import { Fragment, useId, useRef, useState, type ReactNode } from 'react';
import { fileNameOf } from '../../state/text/filePaths';
import { useHost } from '../host';

export interface IOption {
  value: string;
  /** A description of the option. */
  about: string;
  /** The name of its group; options of one group follow each other under it. */
  group?: string;
}

interface IPickerProps {
  /** The name of the setting. */
  label: string;
  value: string;
  options: readonly IOption[];
  /** Formats a value; by default the last part of its name is shown. */
  nameOf?: (value: string) => string;
  /** Formats the value on the chip, where it is shown otherwise than in the list. */
  chipTextOf?: (value: string) => string;
  /** The chip's text before the value, where there is room. */
  prefix?: string;
  /** A further state, shown behind the value; empty for none. */
  state?: string;
  /** Content below the list. */
  foot?: ReactNode;
  /** Whether values outside of the list can be entered. */
  acceptsOthers?: boolean;
  onChoose: (value: string) => void;
}

/** With more options, a field filters them. */
const MAX_UNFILTERED = 8;
/** The maximum number of shown options; the field finds the others. */
const MAX_LISTED = 60;

/** Draws the chip and, while it is open, the list above it. */
export function Picker(props: IPickerProps) {
  const { label, nameOf = fileNameOf, options, onChoose, value } = props;
  const chipTextOf = props.chipTextOf ?? nameOf;
  const stateSuffix = (props.state ?? '') === '' ? '' : `, ${props.state}`;
  const { Icon, words } = useHost();
  const [open, setOpen] = useState(false);
  const buttonRef = useRef<HTMLButtonElement>(null);
  const listId = useId();
  const close = () => {
    setOpen(false);
    buttonRef.current?.focus();
  };
  if (options.length === 0 && value === '') {
    return null;
  }
  return (
    <div
      className="plm-Picker"
      onBlur={event => {
        if (!event.currentTarget.contains(event.relatedTarget)) {
          setOpen(false);
        }
      }}
      onKeyDown={event => {
        if (event.key === 'Escape' && open) {
          event.preventDefault();
          event.stopPropagation();
          close();
        }
      }}
    >
      <button
        type="button"
        ref={buttonRef}
        className="plm-Picker-chip"
        data-more={stateSuffix === '' ? undefined : true}
        aria-expanded={open}
        aria-controls={open ? listId : undefined}
        aria-label={`${label}: ${value === '' ? words.__('default') : (props.nameOf?.(value) ?? value)}${stateSuffix}`}
        title={`${value}${stateSuffix}`}
        disabled={options.length === 0}
        onClick={() => {
          setOpen(!open);
        }}
      >
        {props.prefix !== undefined && (
          <span className="plm-Picker-prefix">{props.prefix}</span>
        )}
        <span className="plm-Picker-value">
          {(value === '' ? '' : chipTextOf(value)) || label}
        </span>
        {stateSuffix !== '' && (
          <span className="plm-Picker-state">{stateSuffix}</span>
        )}
        <span className="plm-Disclosure-caret" aria-hidden="true">
          <Icon name={open ? 'unfold' : 'fold'} />
        </span>
      </button>
      {open && (
        <OptionList
          {...props}
          id={listId}
          onChoose={newValue => {
            onChoose(newValue);
            close();
          }}
        />
      )}
    </div>
  );
}

function OptionList(props: IPickerProps & { id: string }) {
  const {
    foot,
    acceptsOthers = false,
    id,
    label,
    options,
    onChoose,
    value
  } = props;
  const { words } = useHost();
  const [query, setQuery] = useState('');
  const matches = matchingOptions(options, query);
  const typedValue = query.trim();
  const isNew =
    acceptsOthers &&
    typedValue.includes('/') &&
    options.every(o => o.value !== typedValue);
  return (
    <div className="plm-Picker-list" id={id} role="group" aria-label={label}>
      {(acceptsOthers || options.length > MAX_UNFILTERED) && (
        <input
          className="plm-Field"
          autoFocus
          aria-label={words.__('Find or write one')}
          placeholder={
            acceptsOthers ? words.__('provider/name') : words.__('Find one')
          }
          value={query}
          onChange={event => {
            setQuery(event.target.value);
          }}
          onKeyDown={event => {
            const firstValue = isNew ? typedValue : matches[0]?.value;
            if (event.key === 'Enter' && firstValue !== undefined) {
              event.preventDefault();
              onChoose(firstValue);
            }
          }}
        />
      )}
      <ul>
        {[
          ...(isNew
            ? [{ value: typedValue, about: words.__('as it is written') }]
            : []),
          ...matches.slice(0, MAX_LISTED)
        ].map((option: IOption, index, listedOptions) => (
          <Fragment key={option.value}>
            {option.group !== undefined &&
              option.group !== listedOptions[index - 1]?.group && (
                <li className="plm-Picker-group plm-Muted">{option.group}</li>
              )}
            <li>
              <button
                type="button"
                className="plm-Sessions-row"
                aria-current={option.value === value}
                onClick={() => {
                  onChoose(option.value);
                }}
              >
                <span className="plm-Sessions-title">
                  {props.nameOf?.(option.value) ?? option.value}
                </span>{' '}
                <span className="plm-Muted">{option.about}</span>
              </button>
            </li>
          </Fragment>
        ))}
      </ul>
      {matches.length > MAX_LISTED && (
        <p className="plm-Muted">
          {words.__(
            '%1 more: write some of the name.',
            matches.length - MAX_LISTED
          )}
        </p>
      )}
      {matches.length === 0 && !isNew && (
        <p className="plm-Muted">
          {words.__('Neither a name nor a description has these words.')}
        </p>
      )}
      {foot}
    </div>
  );
}

/** Returns the options whose name has all words, then those whose description has them. */
function matchingOptions(
  options: readonly IOption[],
  query: string
): IOption[] {
  const nameMatches = options.filter(({ value }) => hasWords(value, query));
  const namedOptions = new Set(nameMatches);
  const aboutMatches = options.filter(
    option =>
      !namedOptions.has(option) &&
      hasWords(
        [option.value, option.about, option.group ?? ''].join(' '),
        query
      )
  );
  return [...nameMatches, ...aboutMatches];
}

function hasWords(value: string, query: string): boolean {
  const lowerValue = value.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every(word => lowerValue.includes(word));
}
