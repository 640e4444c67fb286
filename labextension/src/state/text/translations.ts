/** The functions that translate a text; views know them as `IWords`. */
export interface ITranslations {
  __(text: string, ...values: (string | number)[]): string;
  /** Returns a text in the form for a number: %1 is `n` itself, the values are %2 and on, as JupyterLab fills them. */
  _n(
    singular: string,
    plural: string,
    n: number,
    ...values: (string | number)[]
  ): string;
}
