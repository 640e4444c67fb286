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
  chip?: (value: string) => string;
  /** The chip's text before the value, where there is room. */
  prefix?: string;
  /** A further state, shown behind the value; empty for none. */
  state?: string;
  /** Content below the list. */
  foot?: ReactNode;
  /** Whether values outside of the list can be entered. */
  isFree?: boolean;
  onChoose: (value: string) => void;
}

/** From this many options on, a field filters them. */
const MIN_FILTERED = 8;
/** The maximum number of shown options; the field finds the others. */
const MAX_SHOWN = 60;

/** Draws the chip and, while it is open, the list above it. */
export function Picker(props: IPickerProps) {
  const { label, nameOf = fileNameOf, options, onChoose, value } = props;
  const chipText = props.chip ?? nameOf;
  const stateSuffix = (props.state ?? '') === '' ? '' : `, ${props.state}`;
  const { Icon, words } = useHost();
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useId();
  const close = () => {
    setOpen(false);
    button.current?.focus();
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
        ref={button}
        className="plm-Picker-chip"
        data-more={stateSuffix === '' ? undefined : true}
        aria-expanded={open}
        aria-controls={open ? list : undefined}
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
          {(value === '' ? '' : chipText(value)) || label}
        </span>
        {stateSuffix !== '' && (
          <span className="plm-Picker-state">{stateSuffix}</span>
        )}
        <span className="plm-Disclosure-caret" aria-hidden="true">
          <Icon name={open ? 'unfold' : 'fold'} />
        </span>
      </button>
      {open && (
        <List
          {...props}
          id={list}
          onChoose={chosen => {
            onChoose(chosen);
            close();
          }}
        />
      )}
    </div>
  );
}

function List(props: IPickerProps & { id: string }) {
  const { foot, isFree = false, id, label, options, onChoose, value } = props;
  const { words } = useHost();
  const [searched, setSearched] = useState('');
  const matches = matchingOptions(options, searched);
  const typed = searched.trim();
  const isNew =
    isFree && typed.includes('/') && options.every(o => o.value !== typed);
  return (
    <div className="plm-Picker-list" id={id} role="group" aria-label={label}>
      {(isFree || options.length > MIN_FILTERED) && (
        <input
          className="plm-Field"
          autoFocus
          aria-label={words.__('Find or write one')}
          placeholder={
            isFree ? words.__('provider/name') : words.__('Find one')
          }
          value={searched}
          onChange={event => {
            setSearched(event.target.value);
          }}
          onKeyDown={event => {
            const first = isNew ? typed : matches[0]?.value;
            if (event.key === 'Enter' && first !== undefined) {
              event.preventDefault();
              onChoose(first);
            }
          }}
        />
      )}
      <ul>
        {[
          ...(isNew
            ? [{ value: typed, about: words.__('as it is written') }]
            : []),
          ...matches.slice(0, MAX_SHOWN)
        ].map((option: IOption, index, shown) => (
          <Fragment key={option.value}>
            {option.group !== undefined &&
              option.group !== shown[index - 1]?.group && (
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
      {matches.length > MAX_SHOWN && (
        <p className="plm-Muted">
          {words.__(
            '%1 more: write some of the name.',
            matches.length - MAX_SHOWN
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
  searched: string
): IOption[] {
  const byName = options.filter(({ value }) => hasWords(value, searched));
  const namedOptions = new Set(byName);
  const described = options.filter(
    option =>
      !namedOptions.has(option) &&
      hasWords(
        [option.value, option.about, option.group ?? ''].join(' '),
        searched
      )
  );
  return [...byName, ...described];
}

function hasWords(value: string, searched: string): boolean {
  const name = value.toLowerCase();
  return searched
    .toLowerCase()
    .split(/\s+/)
    .every(word => name.includes(word));
}
