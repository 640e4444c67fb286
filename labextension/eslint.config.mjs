import jupyter from '@jupyter/eslint-plugin';
import hooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

/** The tested folders know no JupyterLab: what they need of it is handed in as a Host. */
const PLAIN = [
  'src/protocol/**',
  'src/state/**',
  'src/views/**',
  'src/widget/**',
  'src/report/**'
];

export default tseslint.config(
  { ignores: ['dist', 'lib', 'node_modules', 'src/protocol/generated.ts'] },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: {
        projectService: true,
        tsconfigRootDir: import.meta.dirname
      }
    },
    plugins: { 'react-hooks': hooks, jupyter },
    rules: {
      ...hooks.configs.recommended.rules,
      curly: 'error',
      eqeqeq: 'error',
      'no-console': 'error',
      // A kind that is added to a union is handled, or passed over by name.
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true }
      ],
      '@typescript-eslint/naming-convention': [
        'error',
        {
          selector: 'interface',
          format: ['PascalCase'],
          custom: { regex: '^I[A-Z]', match: true }
        }
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true }
      ]
    }
  },
  {
    files: ['src/**/*.{ts,tsx}'],
    rules: {
      ...jupyter.configs.recommended[0].rules,
      // A notebook that opens at once asks for its renderers at once.
      'jupyter/prefer-lazy-imports': 'off'
    }
  },
  {
    files: PLAIN,
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: ['@jupyterlab/*', '@lumino/*'],
              message: 'Ask the Host instead: this folder knows no JupyterLab.'
            }
          ]
        }
      ]
    }
  }
);
