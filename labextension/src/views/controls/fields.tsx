/** Fields of forms: a choice among values, and a box that is ticked. */
import type { ReactNode } from 'react';

interface ISelectFieldProps {
  /** The field's name, where no text beside the field is its label. */
  label?: string;
  value: string;
  choices: readonly (readonly [value: string, name: string])[];
  onChoose: (value: string) => void;
}

/** Draws a choice among values, each with its name. */
export function SelectField(props: ISelectFieldProps) {
  return (
    <select
      className="plm-Field"
      aria-label={props.label}
      value={props.value}
      onChange={event => {
        props.onChoose(event.target.value);
      }}
    >
      {props.choices.map(([value, name]) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </select>
  );
}

interface ITickBoxProps {
  className: string;
  isTicked: boolean;
  onTick: (isTicked: boolean) => void;
  /** The label beside the box. */
  children: ReactNode;
}

/** Draws a box that is ticked, with its label. */
export function TickBox(props: ITickBoxProps) {
  return (
    <label className={props.className}>
      <input
        type="checkbox"
        checked={props.isTicked}
        onChange={event => {
          props.onTick(event.target.checked);
        }}
      />
      {props.children}
    </label>
  );
}
